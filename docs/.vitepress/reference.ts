import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  Application,
  Comment,
  type CommentDisplayPart,
  type Context,
  Converter,
  type DeclarationReflection,
  LogLevel,
  PageEvent,
  type ProjectReflection,
  type Reflection,
  ReflectionKind,
  TypeScript as ts,
} from 'typedoc'
import type { ListedOption } from '../../src/api/option.ts'
import type * as cli from '../../src/cli/program.ts'

/**
 * Writes docs/reference, which the site shows and git ignores: what each entry of the package exports, from the doc
 * comments in the built declarations; the error codes; the options; the commands. Fails when an export, a code or an
 * option has no text, or TypeDoc warns.
 */
const root = resolve(import.meta.dirname, '../..')
const out = join(root, 'docs/reference')
const inDist = (path: string) => join(root, 'dist', path)

/** The entries by the name that TypeDoc gives them; their declarations, and their name in an import. */
const entries: Readonly<Record<string, { file: string; name: string }>> = {
  index: { file: 'index.d.ts', name: 'averba' },
  simulation: { file: 'simulation/index.d.ts', name: 'averba/simulation' },
  verify: { file: 'verify.d.ts', name: 'averba/verify' },
}

if (!existsSync(inDist('index.d.ts'))) throw new Error('Cannot write the reference: npm run build makes dist first')
rmSync(out, { recursive: true, force: true })
mkdirSync(out)
/** The page of what is on one, and the types whose members are shown in place of their declaration. */
const pages = new Map<unknown, string>()
const withMembers = new Set<DeclarationReflection>()
const { httpStatuses }: { httpStatuses: Record<string, number> } = await import(inDist('vocabulary/errors.js'))
const project = await writeExports()
checkExports(project)
writeErrors(project)
await writeOptions()
await writeCommands()

async function writeExports(): Promise<ProjectReflection> {
  const app = await Application.bootstrapWithPlugins({
    entryPoints: Object.values(entries).map(({ file }) => inDist(file)),
    tsconfig: join(import.meta.dirname, 'tsconfig.reference.json'),
    plugin: ['typedoc-plugin-markdown', 'typedoc-plugin-missing-exports'],
    name: 'Exports',
    logLevel: LogLevel.Warn,
    ...{ out, readme: 'none', router: 'member', entryFileName: 'index', internalModule: 'parts' },
    ...{ excludeExternals: true, disableSources: true, sort: ['alphabetical'], useCodeBlocks: true },
    ...{ hidePageHeader: true, hideBreadcrumbs: true, pageTitleTemplates: { member: '{name}', module: '{name}' } },
    ...{ indexFormat: 'table', parametersFormat: 'table', typeDeclarationFormat: 'table' },
    ...{ interfacePropertiesFormat: 'table', classPropertiesFormat: 'table', typeAliasPropertiesFormat: 'table' },
    ...{ propertyMembersFormat: 'table', tableColumnSettings: { hideInherited: true, hideOverrides: true } },
  })
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, showComputed)
  // After the types that exports are made of were added to them.
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, () => {
    for (const reflection of withMembers) delete reflection.type
  })
  app.renderer.on(PageEvent.END, (page: PageEvent) => {
    pages.set(page.model, page.url)
    page.contents = adapt(page.contents ?? '')
  })
  const project = await app.convert()
  if (!project) throw new Error('Cannot write the reference: the declarations have errors')
  for (const entry of project.children ?? []) entry.name = entries[entry.name]?.name ?? entry.name
  await app.generateOutputs(project)
  // docs/reference.md takes its place.
  rmSync(join(out, 'index.md'))
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error('The reference has the faults above')
  return project
}

/** Finds the exports that the reports of the API list and that have no page here, or no doc comment on theirs. */
function checkExports(project: ProjectReflection): void {
  for (const { name } of Object.values(entries)) {
    const report = readFileSync(join(root, 'etc', `${name.replace('/', '-')}.api.md`), 'utf8')
    const exported = [...report.matchAll(/^export (?:abstract )?(?:function|class|interface|type|const) (\w+)/gm)]
    const silent = exported.flatMap(([, each = '']) => {
      const found = project.getChildByName([name, each])
      const target = found?.isReference() ? found.getTargetReflectionDeep() : found
      return target && pages.has(target) && hasText(target) ? [] : [each]
    })
    if (exported.length < 20 || silent.length > 0)
      throw new Error(`Exports of ${name} without a page or a doc comment: ${silent}; of ${exported.length}`)
  }
}

function hasText(reflection: Reflection): boolean {
  const { comment, signatures = [] } = reflection as DeclarationReflection // Modules have no signatures either.
  return [comment, ...signatures.map(each => each.comment)].some(each => each?.hasVisibleComponent())
}

/** Shows the members of a type that the code computes, such as from a schema, and not the computation. */
function showComputed(context: Context, reflection: DeclarationReflection): void {
  const symbol = context.getSymbolFromReflection(reflection)
  const declaration = symbol?.declarations?.find(ts.isTypeAliasDeclaration)
  if (!symbol || !declaration) return
  const text = declaration.type.getText()
  if (/^z\.infer<|^keyof |\[number\]$/.test(text)) {
    reflection.comment ??= new Comment()
    reflection.comment.modifierTags.add('@useDeclaredType')
  } else if (/^RowOf<|^\{\s*\[\w+ in MachineEvent/.test(text)) {
    const inside = context.withScope(reflection)
    for (const member of context.checker.getDeclaredTypeOfSymbol(symbol).getProperties())
      context.converter.convertSymbol(inside, member)
    withMembers.add(reflection)
  }
}

/** Writes a section for each error code, with what the code is for and what throws it. */
function writeErrors(project: ProjectReflection): void {
  const list = plain(project.getChildByName(['averba', 'ErrorCode'])?.comment?.summary ?? [])
  const meanings = new Map<string, string>()
  for (const [, codes = '', meaning = ''] of list.matchAll(/^- ((?:`\w+`(?:, )?)+): (.+(?:\n +.+)*)/gm))
    for (const [, code = ''] of codes.matchAll(/`(\w+)`/g)) meanings.set(code, meaning)
  const throwers = throwersIn(project)
  const unknown = [...meanings.keys(), ...throwers.keys()].filter(code => !(code in httpStatuses))
  const silent = Object.keys(httpStatuses).filter(code => !meanings.has(code))
  if (unknown.length + silent.length > 0)
    throw new Error(`Codes that do not exist: ${unknown}; codes without a meaning in ErrorCode: ${silent}`)
  const sections = Object.keys(httpStatuses)
    .toSorted()
    .map(code => {
      const by = throwers.get(code)?.join(', ')
      const meaning = asSentence(meanings.get(code) ?? '')
      return `## ${code}\n\n${meaning}\n\nHTTP status: ${httpStatuses[code]}.${by ? ` Named by: ${by}.` : ''}\n`
    })
  const before =
    'Every `AverbaError` has one of these codes in `code`, and says in `hint` what to do. A code never gets ' +
    'another meaning. The status suits a host that answers requests with the error: `httpStatuses` has it in code. ' +
    '"Named by" lists whose documentation names the code; what opens or reads the log may throw those of the log too.'
  writePage('errors.md', `# Error codes\n\n${before}\n\n${sections.join('\n')}`)
}

/** Links the codes that are thrown; and the types of events, over a hundred, where a parameter takes any of them. */
function adapt(page: string): string {
  return page
    .replace(/^#+ Throws\n\n(?:(?!#|\*\*\*).*\n?)+/gm, text =>
      text.replace(/`([A-Z_]{4,})`/g, (name, code) =>
        code in httpStatuses ? `[${name}](/reference/errors.md#${code.toLowerCase()})` : name,
      ),
    )
    .replace(/(?:\\\| )?(?:`"[\w.]+"` \\\| ){50,}/g, '[`keyof Events`](/reference/averba/type-aliases/Events.md) \\| ')
}

/** What names a code after `@throws`, as links, by code. A method is named by the interface that a host meets. */
function throwersIn(project: ProjectReflection): Map<string, string[]> {
  const signatures = project.getReflectionsByKind(ReflectionKind.CallSignature).filter(each => each.isSignature())
  const passedOn = new Set(signatures.map(each => each.inheritedFrom?.name))
  const throwers = new Map<string, string[]>()
  for (const { comment, parent } of signatures) {
    const link = linkTo(parent)
    if (!link || passedOn.has(`${parent.parent?.name}.${parent.name}`)) continue
    const text = comment?.getTags('@throws').map(tag => plain(tag.content)) ?? []
    for (const [, code = ''] of text.join().matchAll(/`([A-Z_]{4,})`/g)) {
      const known = throwers.get(code) ?? []
      if (!known.includes(link)) throwers.set(code, [...known, link].toSorted())
    }
  }
  return throwers
}

/** A link to a function, or to a method on the page of its interface. */
function linkTo(reflection: Reflection | undefined): string | undefined {
  const page = pages.get(reflection)
  if (reflection && page) return `[${reflection.name}](./${page})`
  const owner = pages.get(reflection?.parent)
  return owner && `[${reflection?.parent?.name}.${reflection?.name}](./${owner}#${reflection?.name.toLowerCase()})`
}

function plain(parts: readonly CommentDisplayPart[]): string {
  return parts.map(part => part.text).join('')
}

function asSentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1).replace(/\s+/g, ' ').trimEnd()
}

/** Writes a section for each option, under that of its group. */
async function writeOptions(): Promise<void> {
  const { listOptions } = await import(inDist('api/option.js'))
  const { optionsSchema } = await import(inDist('api/options.js'))
  const before =
    'The options of `openAverba`, `defineConfig` and `averba.config.ts`. `averba init` writes a configuration with ' +
    'all of them. A group, such as `portal`, may be left out: what is required in it is required with it.'
  const sections = listOptions(optionsSchema).flatMap((option: ListedOption) => optionSections(option, ''))
  writePage('options.md', `# Options\n\n${before}\n\n${sections.join('\n')}`)
}

function optionSections({ name, comment, isOptional, isList, value, options }: ListedOption, group: string): string[] {
  const path = `${group}${name}`
  if (comment === '') throw new Error(`The option ${path} has no doc comment`)
  const kind = isList ? ' A list; each has:' : ''
  const example =
    value === undefined ? '' : `\n\`\`\`ts\n${name.includes('.') ? `'${name}'` : name}: ${value}\n\`\`\`\n`
  const own = `${group === '' ? '##' : '###'} ${path}\n\n${isOptional ? '' : 'Required. '}${comment}${kind}\n${example}`
  return [own, ...options.flatMap(option => optionSections(option, `${path}.`))]
}

/** Writes the help of each command, which has its options, an example and its exit codes. */
async function writeCommands(): Promise<void> {
  type Command = ReturnType<typeof cli.createProgram>
  const { createProgram } = await import(inDist('cli/program.js'))
  const { createSay } = await import(inDist('cli/language.js'))
  let written = ''
  const stdout = { write: (text: string) => (written += text) }
  const program = createProgram({ say: createSay('en'), stdout, stderr: stdout }, async () => {})
  const help = (command: Command) => {
    written = ''
    command.configureOutput({ getOutHelpWidth: () => 76 }).outputHelp()
    return `\`\`\`text\n${written.trim()}\n\`\`\`\n`
  }
  const sections = program.commands.flatMap((command: Command) => [
    `## averba ${command.name()}\n\n${help(command)}`,
    ...command.commands.map(sub => `### averba ${command.name()} ${sub.name()}\n\n${help(sub)}`),
  ])
  const before =
    'What each command prints with `--help`, with its exit codes. In general 0 is done, 1 an error that the message ' +
    'explains, 2 something to act on, and 70 a bug. [command-line.md](../command-line.md) says which command answers ' +
    'which question.'
  writePage('commands.md', `# Commands and exit codes\n\n${before}\n\n${help(program)}\n${sections.join('\n')}`)
}

function writePage(name: string, text: string): void {
  writeFileSync(join(out, name), text)
}
