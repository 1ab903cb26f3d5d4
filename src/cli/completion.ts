import type { Command } from 'commander'
import { AverbaError } from '../index.ts'
import { type CreateCommand, defineCommand, exitCodes } from './command.ts'

/** What each shell runs at a tab: it asks this program for the words that may follow. */
const scripts: Readonly<Record<string, string>> = {
  bash: `_averba() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(averba completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _averba averba
`,
  zsh: `#compdef averba
_averba() {
  local -a found
  found=(\${(f)"$(averba completion words -- \${words[2,$CURRENT]} 2>/dev/null)"})
  compadd -a found || _files
}
compdef _averba averba
`,
  fish: `complete -c averba -f -a '(averba completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

export const completionCommand: CreateCommand = (start, say) => {
  const command = defineCommand({
    usage: 'completion <shell> [words...]',
    description: 'Print the script with which a shell completes the commands and options.',
    arguments: ['bash, zsh or fish', 'used by the scripts'],
    options: { '--json': 'accepted as by every command; the output is always the script' },
    example: 'source <(averba completion bash)',
    notes: 'Exit codes: 0 printed, 1 the shell is unknown.',
    run({ stdout }, _, shell, words) {
      const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined
      if (script !== undefined) stdout.write(script)
      else if (shell === 'words')
        for (const word of completeWords(command.parent ?? command, words)) stdout.write(`${word}\n`)
      else throw new AverbaError('INVALID_INPUT', 'Cannot complete for this shell', { hint: 'Use bash, zsh or fish' })
      return exitCodes.done
    },
  })(start, say)
  return command
}

/** The words that may follow: values of the option before, subcommands, or options of the command that is named. */
function completeWords(program: Command, words: readonly string[]): string[] {
  const before = words.slice(0, -1)
  const last = words.at(-1) ?? ''
  let command = program
  for (const word of before) command = command.commands.find(each => each.name() === word) ?? command
  const options = [...command.options, ...program.options]
  const choices = options.find(({ long }) => long === before.at(-1))?.argChoices
  const flags = new Set(options.flatMap(({ long }) => long ?? []))
  const known = choices ?? (last.startsWith('-') ? [...flags] : command.commands.map(each => each.name()))
  return known.filter(each => each.startsWith(last))
}
