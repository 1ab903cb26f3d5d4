/** The commands that do what functions of the API do. */
export const commandsOf: Readonly<Record<string, string>> = {
  'consents.deny': 'consents deny',
  'consents.list': 'consents list',
  'consents.revoke': 'consents revoke',
  'consents.sync': 'consents sync',
  'consents.withdrawEnd': 'consents withdraw-end',
  'effects.get': 'effects show',
  'effects.list': 'effects list',
  'effects.park': 'effects park',
  'effects.retry': 'effects retry',
  'effects.withdraw': 'effects withdraw',
  'log.followers': 'followers list',
  'log.retry': 'followers retry',
  'log.skip': 'followers skip',
  'log.unfollow': 'followers remove',
  'notifications.list': 'notifications list',
  'notifications.replay': 'notifications replay',
  'notifications.skip': 'notifications skip',
  'subjects.report': 'report',
  'subscriptions.plan': 'plan',
  'validations.list': 'validations list',
}

/** A name of the API, with what is passed to it; or a quoted text, which is the host's. */
const namePattern = /"[^"]*"|(?<!\w)'[^']*'|(?<![\w./@:-])([a-z]+\.[a-zA-Z]+)(?![\w/-]|\.\w)(?:\(([^()]*)\))?/g

/**
 * Names the command where a text of the library, such as a hint, names the function of the API: an operator has no
 * program to call it in.
 */
export function nameCommands(text: string): string {
  return text.replace(namePattern, (whole, name: string = '', given: string = '') => {
    const command = Object.hasOwn(commandsOf, name) ? commandsOf[name] : undefined
    if (command === undefined) return whole
    // With what is passed to it, it is a whole command line.
    const actor = given !== '' && decisions.includes(name) ? ' --actor <ref>' : ''
    return `averba ${command}${toOptions(given)}${actor}`
  })
}

/** Whoever decides says who it is. */
const decisions: readonly string[] = [
  ...['effects.retry', 'effects.park', 'notifications.replay', 'notifications.skip'],
  ...['log.retry', 'log.skip', 'log.unfollow'],
]

/** `"id"` is an argument; `{ state: 'unknown', parked: true }` are options. */
function toOptions(given: string): string {
  if (given.startsWith('"')) return ` ${given.slice(1, -1)}`
  const options = given.matchAll(/\b(\w+): (?:'([^']*)'|true)/g)
  return [...options].map(([, name, value]) => ` --${name}${value === undefined ? '' : ` ${value}`}`).join('')
}
