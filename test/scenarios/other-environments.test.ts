import { expect, test } from 'vitest'
import { createValidationClient } from '../../src/adapters/validation/client.ts'
import { type LogLine, openAverba, valueOf } from '../../src/index.ts'
import type { Owed } from '../../src/message.ts'
import { samples, VirtualClock } from '../../src/simulation/index.ts'
import { givenToken } from '../../src/tokens.ts'
import { newPath } from '../store/sample-store.ts'

const { cpf } = samples
const input = { id: 'a', cpf, claims: { nome: 'Maria de Exemplo Souza' } }
const production = { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid' }

/** A production that is busy at first, and a demonstration that answers anything. */
function givenServices() {
  const clock = new VirtualClock()
  const store = newPath()
  const state = { isBusy: true }
  const sent: string[] = []
  const lines: LogLine[] = []
  async function fetch({ url }: Request): Promise<Response> {
    sent.push(url)
    const isBusy = state.isBusy && url.includes('/datavalid/')
    const busy = { status: 429, headers: { 'retry-after': '60' } }
    return isBusy ? new Response('', busy) : Response.json({ nome: url.includes('demonstracao') })
  }
  const open = (validationService: { baseUrl: string; service: string }) =>
    openAverba({
      ...{ store, clock, fetch, schedules: false },
      logger: line => void lines.push(line),
      validationService: { ...validationService, bearer: 't' },
    })
  return { clock, state, sent, lines, open }
}

test.each([
  { ...production, service: 'datavalid-demonstracao' },
  { ...production, baseUrl: 'https://ensaio.exemplo.br' },
])(
  'a validation is performed by the very service that it was asked of ($baseUrl/$service is another)',
  async other => {
    const { clock, state, sent, lines, open } = givenServices()
    const first = await open(production)
    expect((await first.validations.validate(input)).status).toBe('deferred')
    await first.close()
    const second = await open(other)
    for (let minutes = 0; minutes < 3; minutes++) {
      await clock.advance(60_000)
      await second.settle()
    }
    expect(await second.validations.validate(input)).toMatchObject({ status: 'deferred', replayed: true })
    expect(sent).toHaveLength(1)
    const said = lines.filter(({ message }) => message.includes('asked of another service'))
    expect(said).toMatchObject([{ detail: expect.stringMatching(/validation-\w+\/1\/0/) }])
    await second.close()
    state.isBusy = false
    const third = await open(production)
    await third.settle()
    expect(valueOf(await third.validations.validate(input)).fields).toEqual({ nome: { result: 'mismatch' } })
    expect(sent).toEqual(Array(2).fill('https://validacao.exemplo.br/datavalid/v2/validate/pf'))
    await third.close()
  },
)

test('a validation that says nothing of where it was asked for goes where this process asks', () => {
  const { 'validationService.validatePerson': performer } = createValidationClient({
    ...production,
    fetch: () => Promise.reject(new TypeError('Nothing is sent')),
    clock: new VirtualClock(),
    tokens: givenToken('t'),
  })
  const owed: Owed = {
    ...{ id: 'validation-v/1/0', position: 1, stream: 'validation-v', state: 'owed', attempts: 0 },
    ...{ type: 'validationService.validatePerson', data: {}, dueAt: '', because: '' },
  }
  expect(performer?.takes?.({ ...owed, data: { validation: 'v' } })).toBe(true)
  expect(performer?.takes?.({ ...owed, data: { validation: 'v', environment: 'outro' } })).toBe(false)
})
