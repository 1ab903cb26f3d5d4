import type { Command } from 'commander'
import { isOnPostgres } from '../vocabulary/names.ts'

/** What names a log, and what opens it. */
const placeFlags = ['--config', '--store', '--keys', '--root-key-from']

/** A quoted text, which is the host's; or a command, perhaps with its place or only its help. */
const commandPattern = /"[^"]*"|(?<![\w./-])averba ([a-z-]+)(?: ([a-z][a-z-]*))?( --(?:store|config) \S+| --help)?/g

/** Adds to the commands in a text the options by which the user named the log: a printed command works as it is. */
export class PrintedCommands {
  readonly #given = new Map<string, string>()
  #program: Command | undefined

  /** Learns what the user gives to the commands of a program. */
  watch(program: Command): void {
    this.#program = program
    for (const leaf of program.commands.flatMap(each => (each.commands.length > 0 ? each.commands : [each])))
      for (const { long } of leaf.options)
        if (long && placeFlags.includes(long))
          leaf.on(`option:${long.slice(2)}`, (value: string) => {
            // Of several configurations it is not known which.
            this.#given.set(long, this.#given.has(long) ? '<file>' : showValue(value))
          })
  }

  complete(text: string): string {
    if (this.#given.size === 0) return text
    return text.replace(commandPattern, (whole, first?: string, second: string = '', place: string = '') => {
      const group = this.#program?.commands.find(each => each.name() === first)
      const leaf = group?.commands.find(each => each.name() === second) ?? group
      const named = [...this.#given].find(([flag]) => flag === '--store' || flag === '--config')?.[0]
      const isOpen = place === '' || place.startsWith(' --store <')
      // One that says where it is needs no more; one that takes places as arguments is not of this log.
      if (!leaf || !named || !takes(leaf, named) || !isOpen) return whole
      const added = [...this.#given].map(([flag, value]) => (takes(leaf, flag) ? ` ${flag} ${value}` : ''))
      const end = leaf === group && second !== '' ? ` ${second}` : ''
      return `${whole.slice(0, whole.length - place.length - end.length)}${added.join('')}${end}`
    })
  }
}

export function takes(command: Command, flag: string): boolean {
  return command.options.some(({ long }) => long === flag)
}

/** The address of a database without a password. */
const openAddress = /^postgres(ql)?:\/\/([^:@?]*@)?[^@]*$/i

/** A value for a shell. What may have a password is not repeated, nor what has braces: those are places in a text. */
export function showValue(value: string): string {
  const isSecret = isOnPostgres(value) && (!openAddress.test(value) || /password/i.test(value))
  if (isSecret) return '<log>'
  if (/[{}]/.test(value)) return '<file>'
  return /^[\w@%+=:,./-]+$/.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`
}
