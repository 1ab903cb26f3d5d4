import type { PortalUser, Recipient } from '../policies.ts'

/** The users of the simulated portal: who calls, and whose notifications each of them gets. */
export class SimulatedUsers {
  readonly #users: readonly PortalUser[]

  constructor(users: readonly PortalUser[]) {
    this.#users = users
  }

  /** The number of the user whose headers a call carries; `undefined` for a stranger. */
  find(given: Headers): number | undefined {
    const found = this.#users.findIndex(({ headers }) => {
      return Object.entries(headers).every(([name, value]) => given.get(name) === value)
    })
    return found < 0 ? undefined : found
  }

  /**
   * Reports whether a user represents a recipient. Notifications go to all representatives of a CNPJ
   * (document 3, section 1); a branch is another CNPJ.
   */
  represents(user: number, { tipo, id }: Recipient): boolean {
    const { represents = 'everyone' } = this.#users[user] ?? {}
    return represents === 'everyone' || represents.some(each => each.tipo === tipo && each.id === id)
  }
}
