import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { consentService } from '../../openapi/consent-service.ts'
import type { Document } from '../../openapi/document.ts'
import { documents, writeDocument } from '../../openapi/documents.ts'
import { samples } from '../../src/simulation/index.ts'
import { everyClaim } from '../support/every-claim.ts'
import { root, run, toolPath } from '../support/run-script.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { describedIn, operations } from './described.ts'

const folder = join(root, 'docs/openapi')
const files = readdirSync(folder).filter(name => name.endsWith('.json'))

test('docs/openapi has one document for each contract', () => {
  expect(files.sort()).toEqual(Object.keys(documents).sort())
  expect(files).toHaveLength(3)
})

test.each(Object.entries(documents))('%s is what npm run openapi writes, and has every example', (name, document) => {
  const written: Document = JSON.parse(readFileSync(join(folder, name), 'utf8'))
  for (const { operation } of describedIn(written)) {
    const { operationId, parameters = [], requestBody, responses } = operation
    const bodies = [requestBody, ...Object.values(responses)].flatMap(each => Object.values(each?.content ?? {}))
    for (const each of [...parameters, ...bodies]) {
      expect(each, operationId).toHaveProperty('example')
      delete each.example
    }
  }
  // The contract suite compares the examples: see test/contracts/documents.ts.
  expect(writeDocument(written)).toBe(writeDocument(document))
})

test('the examples name only the sample person, and the one responsible at the sample company', () => {
  const text = files.map(name => readFileSync(join(folder, name), 'utf8')).join()
  const licence = everyClaim.cnh.numero_registro
  expect(new Set(text.match(/\b\d{11}\b/g))).toEqual(new Set([samples.cpf, '11144477735', licence]))
})

describe('the linter', () => {
  /** Runs a linter with its rules of this repository, and parses what it reports: Redocly's of each file apart. */
  const report = async (tool: string, ...args: string[]) => {
    // Redocly's checks for updates only on a terminal, which this is not. The variable makes sure.
    const env = { ...process.env, REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const paths = [...files.map(name => join(folder, name)), path]
    const given = ['lint', '--format', 'json', ...args, ...paths]
    const running = run(process.execPath, [toolPath(tool), ...given], { env })
    // What it reports says the same as its exit code.
    const { stdout } = await running.catch((error: { stdout: string }) => error)
    return JSON.parse(`[${stdout.replaceAll('\n}{', '\n},{')}]`)
  }
  const path = join(temporaryFolder(), 'document.json')

  test('Redocly reports nothing, except for a component that nothing uses, against a rule that recommends', async () => {
    const { components, ...document } = consentService
    const schemas = { ...components.schemas, Sobra: { type: 'string' } }
    writeFileSync(path, JSON.stringify({ ...document, components: { ...components, schemas } }))
    const nothing = { problems: [], totals: { errors: 0, warnings: 0, ignored: 0 } }
    const unused = { problems: [{ ruleId: 'no-unused-components' }], totals: { errors: 1 } }
    const reported = await report('redocly', '--config', join(root, 'openapi/redocly.yaml'))
    expect(reported).toMatchObject([...files.map(() => nothing), unused])
  })

  test('Spectral reports nothing, except for an example that its schema forbids', async () => {
    const text = readFileSync(join(folder, 'consent-service.json'), 'utf8')
    writeFileSync(path, text.replace('"example": "ATIVO"', '"example": "SUSPENSO"'))
    const [problems] = await report('spectral', '--ruleset', join(root, 'openapi/spectral.yaml'), '--quiet')
    expect(problems).toMatchObject([{ code: 'oas3-valid-media-example', source: path }])
  })

  test.each(['redocly', 'spectral'])('has a reason for each disabled rule of %s', name => {
    const lines = readFileSync(join(root, `openapi/${name}.yaml`), 'utf8').split('\n')
    const off = lines.flatMap((line, i) => (/: off$/.test(line) ? [[line, lines[i - 1]]] : []))
    expect(off.length).toBeGreaterThan(0)
    for (const [line, above] of off) expect(above, line).toMatch(/^ *# .+/)
  })
})

/** The statuses in the error tables of the contracts. Documents 2 and 3 show none for success. */
const shown = [
  ['changeStatus listConsents readConsent listAwareness readAwareness', '200', '400', '401', '403', '500'],
  ['readLogin readLoginAddress', '200', '400', '401', '500'],
  ['requestToken', '415'],
  ['validatePerson', '401'],
  ['subscribe listSubscriptions changeSubscription deleteSubscription listFailures'],
].flatMap(([ids = '', ...statuses]) => ids.split(' ').map(id => [id, statuses] as const))

test('every status of the contracts is documented, and any other is marked as a policy', () => {
  const statusesOf = new Map(shown)
  expect(operations.map(({ operation }) => operation.operationId).sort()).toEqual([...statusesOf.keys()].sort())
  for (const { operation } of operations) {
    const { operationId, responses } = operation
    const isOurs = (status: string) => /status/i.test(responses[status]?.['x-averba-policy'] ?? '')
    const contract = Object.keys(responses).filter(status => !isOurs(status))
    expect(contract, operationId).toEqual(statusesOf.get(operationId))
  }
})

test('an error body is marked as a policy, except the problems of document 1', () => {
  for (const { document, operation } of operations) {
    for (const [status, { content = {}, ...response }] of Object.entries(operation.responses)) {
      if (status === '200') continue
      const isProblem = 'application/problem+json' in content
      expect(isProblem, operation.operationId).toBe(document.info.title === 'Consent service')
      if (!isProblem) expect(response['x-averba-policy'], operation.operationId).toMatch(/body/)
    }
  }
})

test('every document explains its marks, and the first has the version of its contract', () => {
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
