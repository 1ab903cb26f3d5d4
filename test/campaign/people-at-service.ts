import type { ConsentSimulator, NewConsent } from '../../src/simulation/services/consent-service.ts'
import { people } from './people.ts'

/** The address of a consent in the contract. */
export interface ConsentAddress {
  readonly cpf: string
  readonly id: string
}

export interface ReadConsent {
  readonly status: string
  readonly dataExpiracao: string
  readonly historico: readonly { readonly status: string; readonly dataHora: string }[]
}

export class PeopleAtService {
  readonly #service: ConsentSimulator
  /** By person. */
  readonly consents = people.map((): ConsentAddress[] => [])

  constructor(service: ConsentSimulator) {
    this.#service = service
  }

  offer(person: number, consent: NewConsent & { readonly cpf: string }): void {
    this.consents[person]?.push({ cpf: consent.cpf, id: this.#service.addConsent(consent) })
  }

  /** One of a person's consents, -1 for the newest; `undefined` without one. */
  consentOf(person: number, which: number): ConsentAddress | undefined {
    const own = this.consents[person] ?? []
    return own.at(which % own.length)
  }

  /** Reads the record directly, without faults and engine. An overdue consent expires thereby. */
  async read({ cpf, id }: ConsentAddress): Promise<ReadConsent> {
    const request = new Request(`https://consentimento.exemplo.br/consentimento/v1/consentimentos/${cpf}/${id}`)
    const response = await this.#service.fetch(request, { clientName: 'campanha' })
    return (await response.json()) as ReadConsent // The simulator's schema.
  }
}
