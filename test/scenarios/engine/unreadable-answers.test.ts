import { expect, test, vi } from 'vitest'
import { type Claims, valueOf } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { foreignAdvice } from '../../../src/vocabulary/foreign-answer.ts'
import { answering, holdingAnswer } from '../../support/answers.ts'
import { checkOf } from '../../support/check-of.ts'
import { isDetail, isList } from '../../support/consent-requests.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { isValidation } from '../../support/open-validating.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'

/** A world in which the list of consents is replaced by another answer. */
async function givenList() {
  let body = ''
  const answer = vi.fn(() => new Response(body))
  const { averba } = await openWorld({ intercept: answering(isList, answer) })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const read = async (list: string | readonly unknown[]) => {
    body = typeof list === 'string' ? list : JSON.stringify(list)
    answer.mockClear()
    const outcome = await averba.consents.sync({ subject })
    expect(answer).toHaveBeenCalledTimes(1)
    return outcome
  }
  return { averba, subject, read }
}

const consent = (change: object = {}) => ({
  id: 'a',
  status: 'ATIVO',
  dataHora: '2026-11-20T12:00:00Z',
  dataExpiracao: '2027-11-20T12:00:00Z',
  cnpjUsuario: '12ABC34501DE35',
  href: 'https://x.exemplo.br/a',
  ...change,
})

test('an unreadable reading is postponed, and nothing of it is recorded', async () => {
  const { averba, read } = await givenList()
  const isUnreadable = /^the answer cannot be read/
  const isTooLarge = /^ANSWER_TOO_LARGE: /
  const answers: [name: string, body: string, reason: RegExp][] = [
    ['HTML', '<html>Manutenção</html>', isUnreadable],
    ['a broken body', '[{"id": "a", "sta', isUnreadable],
    ['another shape', '{"itens":[]}', isUnreadable],
    ['very deep', `[{"id":"a","status":"ATIVO","x":${'['.repeat(9_000)}${']'.repeat(9_000)}}]`, isUnreadable],
    ['a body that is too large', `[${' '.repeat(4 * 1_048_576)}]`, isTooLarge],
    ['more than ten thousand records', JSON.stringify(Array(10_001).fill(7)), isTooLarge],
    ['nothing', '', isUnreadable],
  ]
  for (const [name, body, reason] of answers) {
    const { status, effect } = await read(body)
    expect(status, name).toBe('deferred')
    const found = { state: 'deferred', reason: expect.stringMatching(reason) }
    expect(await averba.effects.get(effect), name).toMatchObject(found)
  }
  expect(await averba.views.selectFrom('consents').selectAll().execute()).toEqual([])
})

test('an unreadable record does not hide the others', async () => {
  const list = [consent(), { id: 'b', status: 'SUSPENSO' }, 7, consent({ id: 'c', dataHora: null, extra: 1 })]
  const { averba, subject, read } = await givenList()
  expect(valueOf(await read(list))).toEqual({ read: 2, changed: 2, unreadable: 2 })
  expect((await averba.consents.list({ subject })).map(each => each.id).sort()).toEqual(['a', 'c'])
})

const punctuated = '12.ABC.345/01DE-35'

test.each<[string, object, object]>([
  ['an invalid CNPJ is kept as received', { cnpjUsuario: '12.ABC-errado' }, { cnpjUsuario: '12.ABC-errado' }],
  ['a CNPJ is known without its punctuation', { cnpjUsuario: punctuated }, { cnpjUsuario: '12ABC34501DE35' }],
  ['a record listed twice is one record', {}, {}],
  [
    'times without a zone are read in the time zone of Brasilia',
    { dataHora: '2026-11-20T09:00:00' },
    { dataHora: '2026-11-20T12:00:00.000Z' },
  ],
])('%s', async (_, change, shown) => {
  const { averba, subject, read } = await givenList()
  const { consents, views } = averba
  valueOf(await read([consent(change), consent(change)]))
  const listed = await consents.list({ subject })
  expect(listed).toEqual([expect.objectContaining(shown)])
  const [row] = await views.selectFrom('consents').selectAll().execute()
  const isInvalid = listed[0]?.cnpjUsuario?.includes('errado') ?? false
  expect(row?.controller === null).toBe(isInvalid)
  for (const cnpj of [punctuated, '12ABC34501DE35'])
    expect(await consents.list({ subject, cnpj })).toHaveLength(isInvalid ? 0 : 1)
  expect(await consents.list({ subject, cnpj: '00000000000191' })).toEqual([])
})

test.each(['lost', 'unreadable'])('a change whose answer is %s is in doubt, and read back', async how => {
  const { world, which } = await givenConsent('PENDENTE')
  await world.faults.add({ kind: how === 'lost' ? 'lose' : 'html', method: 'PUT' })
  expect(valueOf(await world.averba.consents.approve(which)).status).toBe('ATIVO')
})

/** A world in which full consents are changed. Each reading is of a consent that was not read in full before. */
async function givenDetails() {
  let change: object = {}
  const { averba, consentService, samples } = await openWorld({
    intercept: async (request, forward) => {
      const response = await forward(request)
      return isDetail(request) ? Response.json({ ...(await response.json()), ...change }) : response
    },
  })
  for (let n = 0; n < 3; n++) consentService.addConsent({ cpf: samples.cpf })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  const unread = await averba.consents.list({ subject })
  return (changed: object) => {
    change = changed
    return averba.consents.get({ subject, id: unread.pop()?.id ?? '' })
  }
}

test('a consent whose history cannot be read is still returned in full', async () => {
  const readWith = await givenDetails()
  for (const historico of ['abc', null, { status: 'ATIVO' }, 7, [null, 1, [], {}, { status: 1 }]])
    expect(await readWith({ historico })).toMatchObject({ historico: [] })
  const change = { status: 'NOVO', dataHora: null, dataExpiracao: null }
  const historico = [{ ...change, dataHora: { a: 1 } }, null]
  expect(await readWith({ historico })).toMatchObject({ historico: [change] })
})

test('an answer about another record or another person is rejected', async () => {
  const readWith = await givenDetails()
  for (const change of [
    { id: 'outro' },
    { titular: { cpf: '52998224725', nome: 'OUTRO', email: 'o@exemplo.br' } },
    { titular: { cpf: '529.982.247-25' } },
    { titular: { cpf: 52998224725 } },
  ]) {
    const message = expect.stringContaining('cannot be read')
    await expect(readWith(change), JSON.stringify(change)).rejects.toMatchObject({ code: 'OUTCOME', message })
  }
})

test('a CPF in another notation is not another person', async () => {
  const readWith = await givenDetails()
  const notations = ['***.744.350-**', '257.744.350-16', 25774435016, 'CPF 257.744.350-**', '', null, { toString: 1 }]
  for (const cpf of notations)
    expect(await readWith({ titular: { cpf, nome: 'X', email: 'x@exemplo.br' } })).toMatchObject({ titular: { cpf } })
})

const claims = { nome: 'MARIA DE EXEMPLO SOUZA', cnh: { categoria: 'B' } }

/** A world in which validations get other answers. */
async function givenAnswers() {
  const answers: Response[] = []
  let asked = 0
  const world = await openWorld({ intercept: answering(isValidation, () => answers.shift()) })
  const { validations, log } = world.averba
  /** The outcome of a validation with this answer, its last event, and what is shown of it. */
  const ask = async (body: string, status = 200, of: Claims = claims) => {
    answers.push(new Response(body, { status, headers: { 'content-type': 'application/json' } }))
    const id = `v-${++asked}`
    const outcome = await validations.validate({ id, cpf: world.samples.cpf, claims: of })
    const [last] = await Array.fromAsync(log.read({ kind: 'validation', backward: true }))
    return { outcome, last, shown: await validations.get(id) }
  }
  return { world, validations, ask }
}

test('a paid answer is read except for members that cannot be read, and marked', async () => {
  const { ask } = await givenAnswers()
  const licence = { 'cnh.categoria': { result: 'not-evaluated' } }
  const read: [string, string[], object?][] = [
    ['{"nome":true,"nome_similaridade":null}', ['nome_similaridade']],
    ['{"nome":true,"nome_similaridade":"1.0"}', ['nome_similaridade']],
    ['{"nome":true,"nome_similaridade":1e999}', ['nome_similaridade']],
    ['{"nome":true,"cnh":null}', ['cnh']],
    ['{"nome":null,"nome_similaridade":0.87}', ['nome'], { nome: { result: 'not-evaluated', similarity: 0.87 } }],
    ['{"nome":true,"cnh":[{"categoria":true}]}', ['cnh']],
    [
      '{"nome":true,"cnh":{"categoria":"S","numero_registro":false},"sexo":0,"outro":7}',
      ['sexo', 'cnh.categoria'],
      { 'cnh.numero_registro': { result: 'mismatch' } },
    ],
  ]
  for (const [body, unreadable, others] of read) {
    const { outcome, last } = await ask(body)
    const fields = { nome: { result: 'match' }, ...licence, ...others }
    expect(valueOf(outcome), body).toMatchObject({ state: 'answered', fields })
    const marked = { data: { unreadable }, anomaly: 'members of it could not be read' }
    expect(last, body).toMatchObject({ type: 'validation.answered', ...marked })
  }
  // The contract shows no answer to these claims: one that is given counts.
  const unanswered = { data_nascimento: '1990-01-31', endereco: { municipio: 'X' }, situacao_cpf: 'regular' }
  const body = '{"data_nascimento":false,"endereco":{"municipio":"S"},"outro":{"x":true}}'
  const answered = await ask(body, 200, unanswered)
  expect(valueOf(answered.outcome).fields).toEqual({
    data_nascimento: { result: 'mismatch' },
    'endereco.municipio': { result: 'not-evaluated' },
    situacao_cpf: { result: 'not-evaluated' },
  })
  expect(answered.last).toMatchObject({ data: { unreadable: ['endereco.municipio'] } })
  // Nothing of these is unreadable, also not a similarity without a match result.
  const { outcome } = await ask('{"nome_similaridade":0.5,"cnh":{"nome_similaridade":1}}')
  expect(valueOf(outcome).fields).toEqual({
    nome: { result: 'not-evaluated', similarity: 0.5 },
    'cnh.nome': { result: 'not-evaluated', similarity: 1 },
    ...licence,
  })
  const { last } = await ask('{"nome":true,"outro":null}')
  expect(last).toMatchObject({ type: 'validation.answered', data: { evaluated: 1 } })
  expect(last).not.toHaveProperty('anomaly')
})

test('a paid answer that is no validation is inconclusive, and stored for a person to examine', async () => {
  const { world, validations, ask } = await givenAnswers()
  for (const body of [
    '{}',
    '[]',
    '"1"',
    '<html>Manutenção</html>',
    '{"cnh":{}}',
    '{"nome":"S"}',
    '{"fault":{"code":900900,"message":"Unclassified"}}',
    '{"mensagem":"Serviço indisponível"}',
  ]) {
    const { outcome, last, shown } = await ask(body)
    expect(outcome, body).toMatchObject({ status: 'unknown', next: 'person' })
    expect(last).toMatchObject({ type: 'validation.inconclusive', parts: [{ name: 'unreadable' }] })
    expect(JSON.stringify(last)).not.toContain('Manutenção')
    expect(shown).toMatchObject({ state: 'inconclusive', unreadable: body })
  }
  // The body of a 5xx is stored too, up to a readable length.
  const long = await ask(`${'x'.repeat(16_383)}\u{1F600}`, 500)
  expect(long.shown?.unreadable).toBe(`${'x'.repeat(16_383)}\uFFFD`)
  // The CPF of the request is masked where the answer quotes it.
  const dotted = samples.cpf.replace(/(...)(...)(...)(..)/, '$1.$2.$3-$4')
  const quoting = await ask(`<p>CPF ${samples.cpf} (${dotted}) em análise</p>`)
  expect(quoting.shown?.unreadable).toBe('<p>CPF *** (***) em análise</p>')
  // A lost answer leaves nothing to examine.
  await world.faults.add({ kind: 'lose', service: 'validationService', times: 1 })
  await validations.validate({ id: 'lost', cpf: samples.cpf, claims })
  expect(await validations.get('lost')).not.toHaveProperty('unreadable')
  expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('an unreadable paid answer is erased with its person, unless results are kept', async () => {
  for (const keep of [[], ['validation.result']] as const) {
    const { world, validations, ask } = await givenAnswers()
    await ask('{"nome":"S"}')
    const request = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }
    await world.averba.subjects.erase({ cpf: samples.cpf }, { ...request, keep })
    expect((await validations.get('v-1'))?.unreadable).toBe(keep.length === 0 ? undefined : '{"nome":"S"}')
  }
})

test('an unreadable failure record does not hide the others, and an unreadable time is the start of its day', async () => {
  const dated = { data: '20-11-2026 09:00:00', descricao: 'HTTP 500', conteudo: 'corpo' }
  const unreadable = ['a\ud800', samples.cpf, 'e'.repeat(41)].map((evento, id) => ({ ...dated, id, evento }))
  const records = [...unreadable, { ...dated, id: 9, evento: 'outro-evento', data: 'ontem' }]
  const isReading = ({ url }: Request) => url.includes('/falhas')
  const world = await openWorld({ intercept: answering(isReading, () => Response.json(records)) })
  const { subscriptions } = world.averba
  const data = '2026-11-20T03:00:00.000Z'
  expect(await subscriptions.failures()).toMatchObject([{ id: 9, evento: 'outro-evento', conteudo: 'corpo', data }])
  expect(await world.averba.settle()).toEqual({ settled: 0, deferred: 0, unknown: 0 })
  const listed = await eventsOf(world, 'portal.failuresListed')
  for (const event of listed) expect(event.data).toEqual({ day: null, read: 1, unreadable: 3, recovered: 0, stored: 0 })
  expect(JSON.stringify(listed)).not.toContain(samples.cpf)
  expect(await subscriptions.failures()).toHaveLength(1)
})

test('a plan made while a subscription is being registered does not treat it as deleted', async () => {
  let lists = 0
  const { intercept, given, release } = holdingAnswer(({ method }) => method === 'GET' && ++lists === 2)
  const { averba } = await openWorld({ averba: { subscriptions: [{ evento: 'e', chaveSecreta: 'um' }] }, intercept })
  const { subscriptions } = averba
  const plan = await subscriptions.plan()
  const stale = subscriptions.plan()
  await given
  await subscriptions.apply(plan)
  release()
  await stale
  expect(await subscriptions.list()).toMatchObject([{ state: 'active', deletedBy: null }])
})

test('addresses are built from encoded ids, and href is never followed', async () => {
  const id = 'a/../b ?c#d%2F'
  const href = 'https://outro.exemplo.br/consentimento/v1/consentimentos/1'
  const addresses: string[] = []
  const { averba } = await openWorld({
    async intercept(request) {
      addresses.push(request.url)
      if (request.method === 'PUT') return Response.json(consent({ id, href, status: 'REVOGADO' }))
      const isList = /\d+$/.test(request.url)
      return Response.json(isList ? [consent({ id, href })] : { ...consent({ id, href }), historico: [] })
    },
  })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  expect((await averba.consents.get({ subject, id }))?.id).toBe(id)
  expect(valueOf(await averba.consents.revoke({ subject, id })).status).toBe('REVOGADO')
  expect(await averba.awareness.list({ subject })).toHaveLength(1)
  await averba.awareness.get({ subject, id })
  const consents = `https://consentimento.exemplo.br/consentimento/v1/consentimentos/${samples.cpf}`
  const encoded = 'a%2F..%2Fb%20%3Fc%23d%252F'
  const one = `${consents}/${encoded}`
  const awareness = [consents, one].map(address => address.replace('consentimentos', 'ciencias'))
  expect(addresses).toEqual([consents, one, `${one}/status/REVOGADO`, ...awareness])
})

test('a list above answerBytesMax waits and is told', async () => {
  const consentService = consentServiceWith({ answerBytesMax: 3_000 })
  const world = await openWorld({ averba: { consentService } })
  const { averba, clock } = world
  const { cpf } = world.samples
  const subject = await averba.consents.enrol({ cpf })
  expect(valueOf(await averba.consents.sync({ subject }))).toMatchObject({ read: 4 })
  for (let i = 0; i < 10; i++) world.consentService.addConsent({ cpf })
  const reason = 'ANSWER_TOO_LARGE: the answer is larger than 3000 bytes'
  for (let i = 0; i < 2; i++) {
    const outcome = await averba.consents.sync({ subject })
    expect(outcome).toMatchObject({ status: 'deferred', reason })
    const pending = await averba.effects.get(outcome.effect)
    // As after an answer that is not the service's: the next one is no smaller.
    expect(Date.parse(pending?.dueAt ?? '') - clock.now()).toBeGreaterThanOrEqual(60_000)
  }
  const advice = foreignAdvice.ANSWER_TOO_LARGE
  const detail =
    `2 calls got an answer that is too large from the consentService (ANSWER_TOO_LARGE): ${advice}; ` +
    'see effects.get; 0 parked, 0 with an unknown outcome'
  expect(await checkOf(averba, 'effects')).toEqual({ name: 'effects', ok: false, detail })
  const told = world.lines.map(line => line.message).filter(message => message.includes(advice))
  expect(told).toEqual([`an answer is too large for the consentService: ${advice}`])
})
