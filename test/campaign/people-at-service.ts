import type { ConsentSimulator, NewConsent } from '../../src/simulation/services/consent-service.ts'
import { peopleCount, personOf } from './people.ts'

/** A consent, as the contract addresses it. */
export interface At {
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

  /** One of a person's consents, -1 the newest; `undefined` while there is none. */
  consentOf(person: number, which: number): At | undefined {
    const own = this.#consents[person] ?? []
    const id = own.at(which % own.length)
    return id === undefined ? undefined : { cpf: personOf(person).cpf, id }
  }

  /** Everybody who was ever offered one, with all of them. */
  *all(): Iterable<{ readonly person: number; readonly consents: readonly At[] }> {
    for (const [person, ids] of this.#consents.entries()) {
      const { cpf } = personOf(person)
      if (ids.length > 0) yield { person, consents: ids.map(id => ({ cpf, id })) }
    }
  }

  /** The status, what has expired included: the service works that out when somebody looks. */
  async statusAt(at: At): Promise<string> {
    return (await this.read(at)).status
  }

  /** The record, read past faults and engine. */
  async read({ cpf, id }: At): Promise<ReadConsent> {
    const request = new Request(
      `https://consentimento.exemplo.br/consentimento/v1/consentimentos/${cpf}/${id}`,
    )
    const response = await this.#service.fetch(request, { clientName: 'campanha' })
    return (await response.json()) as ReadConsent // As the simulator's own schema writes it.
  }
}

export interface ReadConsent {
  readonly status: string
  readonly dataExpiracao: string
  readonly historico: readonly { readonly status: string; readonly dataHora: string }[]
}
