import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { consentService } from '../../openapi/consent-service.ts'
import { documents, writeDocument } from '../../openapi/documents.ts'
import { operations } from './described.ts'

const root = resolve(import.meta.dirname, '../..')
const folder = join(root, 'docs/openapi')
const files = readdirSync(folder).filter(name => name.endsWith('.json'))

test('docs/openapi has one document for each contract', () => {
  expect(files.sort()).toEqual(Object.keys(documents).sort())
  expect(files).toHaveLength(3)
})

test.each(Object.entries(documents))('%s is what npm run openapi writes', (name, document) => {
  expect(readFileSync(join(folder, name), 'utf8')).toBe(writeDocument(document))
})

describe('the linter', () => {
  const lint = async (path: string) => {
    const cli = join(root, 'node_modules/@redocly/cli/bin/cli.js')
    const options = ['lint', '--config', join(root, 'openapi/redocly.yaml'), '--format', 'json']
    // It asks for newer versions of itself on a terminal only, which this is not; the variable makes sure.
    const env = { ...process.env, REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    // What it exits with, it says in its totals too.
    const run = promisify(execFile)(process.execPath, [cli, ...options, path], { env })
    const { stdout } = await run.catch((error: { stdout: string }) => error)
    const { problems, totals } = JSON.parse(stdout) as { problems: { ruleId: string }[]; totals: object }
    return { rules: problems.map(each => each.ruleId), totals }
  }

  test.each(files)('has nothing to say about %s', async name => {
    const totals = { errors: 0, warnings: 0, ignored: 0 }
    expect(await lint(join(folder, name))).toEqual({ rules: [], totals })
  })

  test('takes as an error what is only a warning by its recommended rules', async () => {
    const { components, ...document } = consentService
    const unused = { ...components.schemas, Sobra: { type: 'string' } }
    const path = join(mkdtempSync(join(tmpdir(), 'averba-openapi-')), 'document.json')
    writeFileSync(path, JSON.stringify({ ...document, components: { ...components, schemas: unused } }))
    expect(await lint(path)).toMatchObject({ rules: ['no-unused-components'], totals: { errors: 1 } })
  })

  test('is told why of each rule that it leaves out', () => {
    const lines = readFileSync(join(root, 'openapi/redocly.yaml'), 'utf8').split('\n')
    const off = lines.flatMap((line, i) => (/: off$/.test(line) ? [[line, lines[i - 1]]] : []))
    expect(off.length).toBeGreaterThan(0)
    for (const [line, above] of off) expect(above, line).toMatch(/^ *# .+/)
  })
})

/** The tables of errors in the contracts; no success has a status in documents 2 and 3. */
const shown: Record<string, string[]> = {
  ...Object.fromEntries(
    ['changeStatus', 'listConsents', 'readConsent', 'listAwareness', 'readAwareness'].map(id => {
      return [id, ['200', '400', '401', '403', '500']]
    }),
  ),
  readLogin: ['200', '400', '401', '500'],
  readLoginAddress: ['200', '400', '401', '500'],
  requestToken: ['415'],
  validatePerson: ['401'],
  subscribe: [],
  listSubscriptions: [],
  changeSubscription: [],
  deleteSubscription: [],
  listFailures: [],
}

test('a status that the contracts do not show is marked as a policy, and one that they show is there', () => {
  expect(operations.map(({ operation }) => operation.operationId).sort()).toEqual(Object.keys(shown).sort())
  for (const { operation } of operations) {
    const { operationId, responses } = operation
    const isOurs = (status: string) => /status/i.test(responses[status]?.['x-averba-policy'] ?? '')
    const contract = Object.keys(responses).filter(status => !isOurs(status))
    expect(contract, operationId).toEqual(shown[operationId])
  }
})

test('an error body is marked as a policy, but for the problems of document 1', () => {
  for (const { document, operation } of operations) {
    for (const [status, { content = {}, ...response }] of Object.entries(operation.responses)) {
      if (status === '200') continue
      const isProblem = 'application/problem+json' in content
      expect(isProblem, operation.operationId).toBe(document.info.title === 'Consent service')
      if (!isProblem) expect(response['x-averba-policy'], operation.operationId).toMatch(/body/)
    }
  }
})

test('every document says what its marks mean, and the first carries the version of its contract', () => {
  for (const { info } of Object.values(documents)) expect(info.description).toContain('x-averba-policy')
  expect(documents['consent-service.json']?.info.version).toBe('1.0.2')
})

test('the resources of document 1 have the names of the contract', () => {
  const names =
    'ConsentimentoResumido ConsentimentoDetalhado StatusConsentimento Categoria Metadado Finalidade Titular ' +
    'UsuarioControlador Responsavel CienciaResumida CienciaDetalhada StatusTratamento Hipotese DetalheHipotese ' +
    'TitularAutenticadoStatus TitularLoginUrl ProblemaDetalhado'
  const { schemas } = documents['consent-service.json']?.components ?? { schemas: {} }
  expect(Object.keys(schemas)).toEqual(names.split(' '))
})
