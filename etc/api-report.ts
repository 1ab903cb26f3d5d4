import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor'

/**
 * Writes what each entry of the package exports to `etc/<name>.api.md`, from the built declarations. With `--check` it
 * fails when a report differs from the committed one: a change of the API is a change that a reviewer sees.
 */
const root = resolve(import.meta.dirname, '..')
const entries = { averba: 'index', 'averba-simulation': 'simulation/index', 'averba-verify': 'verify' }
const isCheck = process.argv.includes('--check')
const temporary = mkdtempSync(join(tmpdir(), 'averba-api-'))

const tsconfig = join(temporary, 'tsconfig.json')
const declarations = Object.values(entries).map(entry => join(root, 'dist', `${entry}.d.ts`))
const compilerOptions = {
  ...{ target: 'es2024', lib: ['es2024', 'dom', 'dom.iterable', 'esnext.array', 'esnext.disposable'] },
  ...{ module: 'nodenext', strict: true, skipLibCheck: true, noEmit: true },
  ...{ types: ['node'], typeRoots: [join(root, 'node_modules/@types')] },
}
writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files: declarations }))

let changed = 0
for (const [name, entry] of Object.entries(entries)) {
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: join(root, 'dist', `${entry}.d.ts`),
      compiler: { tsconfigFilePath: tsconfig },
      apiReport: {
        ...{ enabled: true, reportFileName: `${name}.api.md`, reportFolder: import.meta.dirname },
        reportTempFolder: temporary,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Warning } },
        // Tags of releases are not used, and types that only others are made of have no name of their own.
        extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, 'package.json'),
  })
  const { apiReportChanged } = Extractor.invoke(config, {
    localBuild: !isCheck,
    // Its advice names commands of its own.
    messageCallback: message => {
      message.handled = true
    },
  })
  if (apiReportChanged) changed += 1
  console.log(`${name}: ${apiReportChanged ? 'changed' : 'as committed'}`)
}
rmSync(temporary, { recursive: true })
if (isCheck && changed > 0) {
  console.error('The API has changed: npm run api writes the reports, for review')
  process.exitCode = 1
}
