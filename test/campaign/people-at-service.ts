import type { ConsentSimulator, NewConsent } from '../../src/simulation/services/consent-service.ts'
import { peopleCount, personOf } from './people.ts'

/** The address of a consent in the contract. */
export interface ConsentAddress {
  readonly cpf: string
  readonly id: string
}

/** The data subjects and their consents as the service has them. */
export class PeopleAtService {
  readonly #service: ConsentSimulator
  readonly #consents = Array.from({ length: peopleCount }, (): string[] => [])

  constructor(service: ConsentSimulator) {
    this.#service = service
  }

  offer(person: number, consent: NewConsent): void {
    this.#consents[person]?.push(this.#service.addConsent(consent))
  }

  /** One of a person's consents, -1 for the newest; `undefined` without one. */
  consentOf(person: number, which: number): ConsentAddress | undefined {
    const own = this.#consents[person] ?? []
    const id = own.at(which % own.length)
    return id === undefined ? undefined : { cpf: personOf(person).cpf, id }
  }

  /** Everyone who has consents, with all of them. */
  *all(): Iterable<{ readonly person: number; readonly consents: readonly ConsentAddress[] }> {
    for (const [person, ids] of this.#consents.entries()) {
      const { cpf } = personOf(person)
      if (ids.length > 0) yield { person, consents: ids.map(id => ({ cpf, id })) }
    }
  }

  /** The status; reading it lets an overdue consent expire. */
  async statusAt(at: ConsentAddress): Promise<string> {
    return (await this.read(at)).status
  }

  /** Reads the record directly, without faults and engine. */
  async read({ cpf, id }: ConsentAddress): Promise<ReadConsent> {
    const request = new Request(`https://consentimento.exemplo.br/consentimento/v1/consentimentos/${cpf}/${id}`)
    const response = await this.#service.fetch(request, { clientName: 'campanha' })
    return (await response.json()) as ReadConsent // The simulator's schema.
  }
}

export interface ReadConsent {
  readonly status: string
  readonly dataExpiracao: string
  readonly historico: readonly { readonly status: string; readonly dataHora: string }[]
}
