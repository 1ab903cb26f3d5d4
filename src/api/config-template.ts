import { type ListedOption, listOptions } from './option.ts'
import { optionsSchema } from './options.ts'

const beginning = `/**
 * The configuration of averba: one object for your program and for the command line.
 *
 *   import { openAverba } from 'averba'
 *   import config from './averba.config.ts'
 *   const averba = await openAverba(config)
 *
 * Each service is optional: delete its block, and calls that need it are refused with SERVICE_NOT_CONFIGURED. Options
 * in comments are optional too. Put no secret into this file: read secrets from the environment or from your vault, and
 * private keys from files that only your program can read.
 */
import { readFileSync } from 'node:fs'
import { defineConfig } from 'averba'

/** Reads an environment variable. The error for a missing variable names it. */
function env(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error('The environment variable ' + name + ' is not set')
  return value
}

const textOf = (name: string) => readFileSync(env(name), 'utf8')

/**
 * The certificate authority of the services, when the system does not trust it, such as that of "averba simulate".
 * Without the variable AVERBA_CA the authorities of the system are trusted.
 */
const authority = process.env['AVERBA_CA'] ? textOf('AVERBA_CA') : undefined
`

type Translate = (comment: string) => string

function translateBeginning(translate: Translate): string {
  return beginning
    .replace(/(?:^ \* \S.*\n)+/gm, lines => {
      const text = lines.replaceAll(/^ \*|\n/gm, '').trim()
      return wrap(translate(text), 117)
        .map(line => ` * ${line}\n`)
        .join('')
    })
    .replace(/^\/\*\* (.+) \*\/$/gm, (_, text) => `/** ${translate(text)} */`)
}

/** See `configTemplate` of src/index.ts. */
export function configTemplate(translate: Translate = comment => comment): string {
  const options = listOptions(optionsSchema).map(option => writeOption(option, translate, '  ').join('\n'))
  return `${translateBeginning(translate)}\nexport default defineConfig({\n${options.join('\n\n')}\n})\n`
}

function writeOption(
  { name, comment, value, isShown, isList, options }: ListedOption,
  translate: Translate,
  indent: string,
): string[] {
  const key = /^\w+$/.test(name) ? name : `'${name}'`
  const comments = wrap(translate(comment), 117 - indent.length).map(line => `${indent}// ${line}`)
  if (value !== undefined) {
    const mark = isShown ? '' : '// '
    const text = value.replace(/, \/\/ (.+)$/gm, (_, said) => `, // ${translate(said)}`)
    return [...comments, ...`${key}: ${text},`.split('\n').map(line => `${indent}${mark}${line}`)]
  }
  const inner = isList ? `${indent}    ` : `${indent}  `
  const members = options.flatMap(option => writeOption(option, translate, inner))
  if (!isList) return [...comments, `${indent}${key}: {`, ...members, `${indent}},`]
  return [...comments, `${indent}${key}: [`, `${indent}  {`, ...members, `${indent}  },`, `${indent}],`]
}

/** Breaks a text into lines of at most `max` characters, between words. */
function wrap(text: string, max: number): string[] {
  return text.match(new RegExp(`\\S(?:.{0,${max - 1}})(?=\\s|$)`, 'g')) ?? []
}
