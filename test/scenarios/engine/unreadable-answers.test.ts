import { describe, expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { samples, type WorldOptions } from '../../../src/simulation/index.ts'
import { passTime } from '../../support/pass-time.ts'
import { openWorld } from '../../support/world.ts'

/** A world in which the list of consents is replaced by another answer. */
async function givenList(answer: () => Response) {
  const world = await openWorld({
    intercept: async (request, forward) => (/consentimentos\/\d+$/.test(request.url) ? answer() : forward(request)),
  })
  const subject = await world.averba.consents.enrol({ cpf: world.samples.cpf })
  return { world, subject }
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

const punctuated = '12.ABC.345/01DE-35'

describe('an unreadable reading is postponed, and nothing of it is recorded', () => {
  test.each([
    ['HTML', () => new Response('<html>Manutenção</html>', { headers: { 'content-type': 'text/html' } })],
    ['a broken body', () => new Response('[{"id": "a", "sta')],
    ['another shape', () => Response.json({ itens: [] })],
    [
      'very deep nesting',
      () => new Response(`[{"id":"a","status":"ATIVO","x":${'['.repeat(9_000)}${']'.repeat(9_000)}}]`),
    ],
    ['a body that is too large', () => new Response(`[${' '.repeat(4 * 1_048_576)}]`)],
    ['more than ten thousand records', () => Response.json(Array.from({ length: 10_001 }, () => 7))],
    ['nothing', () => new Response('')],
    ['500', () => new Response('erro', { status: 500 })],
    ['503', () => new Response('', { status: 503 })],
  ])('%s', async (_, answer) => {
    const { world, subject } = await givenList(answer)
    expect(await world.averba.consents.sync({ subject })).toMatchObject({ status: 'deferred' })
    expect(await world.averba.effects.list({ state: 'deferred' })).toHaveLength(1)
    expect(await world.averba.views.selectFrom('consents').selectAll().execute()).toEqual([])
  })
})

test('Retry-After is respected', async () => {
  const { world, subject } = await givenList(() => new Response('', { status: 429, headers: { 'retry-after': '120' } }))
  const outcome = await world.averba.consents.sync({ subject })
  expect(outcome).toMatchObject({ status: 'deferred', retryAt: '2026-11-20T12:02:00.000Z' })
})

test.each([
  ['a text', 'abc', []],
  ['null', null, []],
  ['an object', { status: 'ATIVO' }, []],
  ['a number', 7, []],
  ['invalid entries', [null, 1, [], {}, { status: 1 }], []],
  [
    'one valid entry and an invalid one',
    [{ status: 'NOVO', dataHora: { a: 1 } }, null],
    [{ status: 'NOVO', dataHora: null, dataExpiracao: null }],
  ],
])('a consent whose history is %s is still returned in full', async (_, historico, shown) => {
  const { reading } = await givenDetail({ historico })
  expect(await reading).toMatchObject({ historico: shown })
})

test('an unreadable record does not hide the others', async () => {
  const list = [consent(), { id: 'b', status: 'SUSPENSO' }, 7, consent({ id: 'c', dataHora: null, extra: 1 })]
  const { world, subject } = await givenList(() => Response.json(list))
  expect(valueOf(await world.averba.consents.sync({ subject }))).toEqual({
    read: 2,
    changed: 2,
    unreadable: 2,
  })
  expect((await world.averba.consents.list({ subject })).map(each => each.id).sort()).toEqual(['a', 'c'])
})

test.each([
  [
    'an invalid CNPJ is kept as received',
    [consent({ cnpjUsuario: '12.ABC-errado' })],
    { cnpjUsuario: '12.ABC-errado' },
  ],
  [
    'a CNPJ is known without its punctuation',
    [consent({ cnpjUsuario: punctuated })],
    { cnpjUsuario: '12ABC34501DE35' },
  ],
  ['a record listed twice is one record', [consent(), consent()], {}],
  [
    'times without a zone are read in the time zone of Brasilia',
    [consent({ dataHora: '2026-11-20T09:00:00' })],
    { dataHora: '2026-11-20T12:00:00.000Z' },
  ],
])('%s', async (_, list, shown) => {
  const { world, subject } = await givenList(() => Response.json(list))
  const { consents, views } = world.averba
  valueOf(await consents.sync({ subject }))
  const listed = await consents.list({ subject })
  expect(listed).toEqual([expect.objectContaining(shown)])
  const [row] = await views.selectFrom('consents').selectAll().execute()
  const isInvalid = listed[0]?.cnpjUsuario?.includes('errado') ?? false
  expect(row?.controller === null).toBe(isInvalid)
  for (const cnpj of [punctuated, '12ABC34501DE35'])
    expect(await consents.list({ subject, cnpj })).toHaveLength(isInvalid ? 0 : 1)
  expect(await consents.list({ subject, cnpj: '00000000000191' })).toEqual([])
})

test('a change with an unreadable answer is in doubt, and read back', async () => {
  const world = await openWorld({
    intercept: async (request, forward) => {
      const response = await forward(request)
      return request.method === 'PUT' ? new Response('<html>') : response
    },
  })
  const subject = await world.averba.consents.enrol({ cpf: world.samples.cpf })
  valueOf(await world.averba.consents.sync({ subject }))
  const [pending] = await world.averba.consents.list({ subject, status: 'PENDENTE' })
  expect(valueOf(await world.averba.consents.approve({ subject, id: pending?.id ?? '' })).status).toBe('ATIVO')
})

/** A world in which full consents are changed, with the id of one. */
async function givenDetail(change: object) {
  const world = await openWorld({
    intercept: async (request, forward) => {
      const response = await forward(request)
      const isDetail = request.method === 'GET' && /consentimentos\/\d+\/\w+$/.test(request.url)
      return isDetail ? Response.json({ ...(await response.json()), ...change }) : response
    },
  })
  const subject = await world.averba.consents.enrol({ cpf: world.samples.cpf })
  valueOf(await world.averba.consents.sync({ subject }))
  const [first] = await world.averba.consents.list({ subject })
  return { world, reading: world.averba.consents.get({ subject, id: first?.id ?? '' }) }
}

describe('an answer about another record or another person is rejected', () => {
  const other = { id: 'outro', titular: { cpf: '52998224725', nome: 'OUTRO', email: 'o@exemplo.br' } }
  test.each([
    ['another id', { id: other.id }],
    ['another person', { titular: other.titular }],
    ['another person, with punctuation', { titular: { cpf: '529.982.247-25' } }],
    ['another person, as a number', { titular: { cpf: 52998224725 } }],
  ])('%s', async (_, change) => {
    const { reading } = await givenDetail(change)
    await expect(reading).rejects.toMatchObject({
      code: 'OUTCOME',
      message: expect.stringContaining('cannot be read'),
    })
  })
})

describe('a CPF in another notation is not another person', () => {
  test.each(['***.744.350-**', '257.744.350-16', 25774435016, 'CPF 257.744.350-**', '', null, { toString: 1 }])(
    '%s',
    async cpf => {
      const { reading } = await givenDetail({ titular: { cpf, nome: 'X', email: 'x@exemplo.br' } })
      expect(await reading).toMatchObject({ titular: { cpf } })
    },
  )
})

describe('a paid answer', () => {
  const claims = { nome: 'MARIA DE EXEMPLO SOUZA', cnh: { categoria: 'B' } }
  const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

  /** A world in which a validation gets another answer. */
  async function givenAnswer(body: string, averba: NonNullable<WorldOptions['averba']> = {}, status = 200) {
    const headers = { 'content-type': 'application/json' }
    const world = await openWorld({
      averba,
      intercept: async (request, forward) =>
        request.url.includes('/validate/pf') ? new Response(body, { status, headers }) : forward(request),
    })
    const { validations, log } = world.averba
    const outcome = await validations.validate({ id: 'a', cpf: world.samples.cpf, claims })
    const events = await Array.fromAsync(log.read({ kind: 'validation', backward: true }))
    return { world, validations, outcome, last: events[0] }
  }

  const nome = { result: 'match' }
  const licence = { 'cnh.categoria': { result: 'not-evaluated' } }
  test.each([
    ['{"nome":true,"nome_similaridade":null}', ['nome_similaridade'], { nome, ...licence }],
    ['{"nome":true,"nome_similaridade":"1.0"}', ['nome_similaridade'], { nome, ...licence }],
    ['{"nome":true,"nome_similaridade":1e999}', ['nome_similaridade'], { nome, ...licence }],
    ['{"nome":true,"cnh":null}', ['cnh'], { nome, ...licence }],
    [
      '{"nome":null,"nome_similaridade":0.87}',
      ['nome'],
      { nome: { result: 'not-evaluated', similarity: 0.87 }, ...licence },
    ],
    ['{"nome":true,"cnh":[{"categoria":true}]}', ['cnh'], { nome, ...licence }],
    [
      '{"nome":true,"cnh":{"categoria":"S","numero_registro":false},"sexo":0,"outro":7}',
      ['sexo', 'cnh.categoria'],
      { nome, ...licence, 'cnh.numero_registro': { result: 'mismatch' } },
    ],
  ])('%s is read except for %j, and marked', async (body, unreadable, fields) => {
    const { outcome, last } = await givenAnswer(body)
    expect(valueOf(outcome)).toMatchObject({ state: 'answered', fields })
    expect(last).toMatchObject({
      type: 'validation.answered',
      data: { unreadable },
      anomaly: 'members of it could not be read',
    })
  })

  test('a similarity without a match result is kept', async () => {
    const { outcome } = await givenAnswer('{"nome_similaridade":0.5,"cnh":{"nome_similaridade":1}}')
    expect(valueOf(outcome).fields).toEqual({
      nome: { result: 'not-evaluated', similarity: 0.5 },
      'cnh.nome': { result: 'not-evaluated', similarity: 1 },
      ...licence,
    })
  })

  test('an answer whose members are all readable has no anomaly', async () => {
    const { last } = await givenAnswer('{"nome":true,"outro":null}')
    expect(last).toMatchObject({ type: 'validation.answered', data: { evaluated: 1 } })
    expect(last).not.toHaveProperty('anomaly')
  })

  test.each([
    ['{}'],
    ['[]'],
    ['"1"'],
    ['<html>Manutenção</html>'],
    ['{"cnh":{}}'],
    ['{"nome":"S"}'],
    ['{"fault":{"code":900900,"message":"Unclassified"}}'],
    ['{"mensagem":"Serviço indisponível"}'],
  ])('%s is no validation: it is inconclusive, and stored for a person to examine', async body => {
    const { world, validations, outcome, last } = await givenAnswer(body)
    expect(outcome).toMatchObject({ status: 'unknown', next: 'person' })
    expect(last).toMatchObject({ type: 'validation.inconclusive', parts: [{ name: 'unreadable' }] })
    expect(JSON.stringify(last)).not.toContain('Manutenção')
    expect(await validations.get('a')).toMatchObject({ state: 'inconclusive', unreadable: body })
    expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  })

  test('the body of a 5xx is stored too, up to a readable length', async () => {
    const { validations } = await givenAnswer(`${'x'.repeat(16_383)}\u{1F600}`, {}, 500)
    expect((await validations.get('a'))?.unreadable).toBe(`${'x'.repeat(16_383)}\uFFFD`)
  })

  test('the CPF of the request is masked in an unreadable answer that quotes it', async () => {
    const dotted = samples.cpf.replace(/(...)(...)(...)(..)/, '$1.$2.$3-$4')
    const { validations } = await givenAnswer(`<p>CPF ${samples.cpf} (${dotted}) em análise</p>`)
    expect((await validations.get('a'))?.unreadable).toBe('<p>CPF *** (***) em análise</p>')
  })

  test('a lost answer leaves nothing to examine', async () => {
    const world = await openWorld()
    await world.faults.add({ kind: 'lose', service: 'validationService', times: 1 })
    await world.averba.validations.validate({ id: 'a', cpf: world.samples.cpf, claims })
    expect(await world.averba.validations.get('a')).not.toHaveProperty('unreadable')
  })

  test('an unreadable answer is erased with its person, unless results are kept', async () => {
    for (const keep of [[], ['validation.result']] as const) {
      const { world, validations } = await givenAnswer('{"nome":"S"}')
      await world.averba.subjects.erase({ cpf: world.samples.cpf }, { ...asked, keep })
      const kept = (await validations.get('a'))?.unreadable
      expect(kept).toBe(keep.length === 0 ? undefined : '{"nome":"S"}')
      await world.close()
    }
  })

  test('an unreadable answer is stored until it is resolved, if results are retained until then', async () => {
    const retention = { 'validation.result': 'until-settled' } as const
    const { world, validations } = await givenAnswer('{"nome":"S"}', { schedules: true, retention })
    const kept = async () => {
      await passTime(world, 86_400_000)
      return (await validations.get('a'))?.unreadable
    }
    expect(await kept()).toBe('{"nome":"S"}')
    await validations.resolve('a', { charged: true })
    expect(await kept()).toBeUndefined()
  })
})

describe('the portal', () => {
  const bad = { id: 1, data: '20-11-2026 09:00:00', descricao: 'x', evento: 'a\ud800', conteudo: 'x' }
  const good = {
    id: 2,
    data: '20-11-2026 09:00:00',
    descricao: 'HTTP 500',
    evento: 'outro-evento',
    conteudo: 'corpo',
  }

  test('an unreadable failure record does not hide the others, and an unreadable time is the start of its day', async () => {
    const undated = { ...good, data: 'ontem' }
    const cpfAsEvent = { ...good, id: 3, evento: '25774435016' }
    const records = [bad, cpfAsEvent, { ...good, id: 4, evento: 'e'.repeat(41) }, undated]
    const world = await openWorld({
      intercept: async (request, forward) =>
        request.url.includes('/falhas') ? Response.json(records) : forward(request),
    })
    const failures = await world.averba.subscriptions.failures()
    const data = '2026-11-20T03:00:00.000Z'
    expect(failures).toMatchObject([{ id: 2, evento: 'outro-evento', conteudo: 'corpo', data }])
    expect(await world.averba.settle()).toEqual({ settled: 0, deferred: 0, unknown: 0 })
    for await (const event of world.averba.log.read({ types: ['portal.failuresListed'] })) {
      expect(event.data).toEqual({ day: null, read: 1, unreadable: 3, recovered: 0, stored: 0 })
      expect(JSON.stringify(event)).not.toContain('25774435016')
    }
    expect(await world.averba.subscriptions.failures()).toHaveLength(1)
  })

  test('a plan made while a subscription is being registered does not treat it as deleted', async () => {
    const held = Promise.withResolvers<void>()
    let lists = 0
    const subscriptions = [{ evento: 'e', chaveSecreta: 'um' }]
    const world = await openWorld({
      averba: { subscriptions },
      intercept: async (request, forward) => {
        const response = await forward(request)
        if (request.method === 'GET' && ++lists === 2) await held.promise
        return response
      },
    })
    const plan = await world.averba.subscriptions.plan()
    const stale = world.averba.subscriptions.plan()
    await expect.poll(() => lists).toBe(2)
    await world.averba.subscriptions.apply(plan)
    held.resolve()
    await stale
    expect(await world.averba.subscriptions.list()).toMatchObject([{ state: 'active', deletedBy: null }])
  })
})

test('addresses are built from encoded ids, and href is never followed', async () => {
  const id = 'a/../b ?c#d%2F'
  const href = 'https://outro.exemplo.br/consentimento/v1/consentimentos/1'
  const addresses: URL[] = []
  const { averba, samples } = await openWorld({
    async intercept(request) {
      addresses.push(new URL(request.url))
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
  const encoded = 'a%2F..%2Fb%20%3Fc%23d%252F'
  const { cpf } = samples
  expect(addresses.map(({ hostname, pathname, search }) => hostname + pathname + search)).toEqual(
    [
      `consentimentos/${cpf}`,
      `consentimentos/${cpf}/${encoded}`,
      `consentimentos/${cpf}/${encoded}/status/REVOGADO`,
      `ciencias/${cpf}`,
      `ciencias/${cpf}/${encoded}`,
    ].map(path => `consentimento.exemplo.br/consentimento/v1/${path}`),
  )
})
