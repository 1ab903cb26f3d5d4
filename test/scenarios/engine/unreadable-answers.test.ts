import { describe, expect, test } from 'vitest'
import type { Claims } from '../../../src/index.ts'
import { valueOf } from '../../../src/index.ts'
import { samples, type WorldOptions } from '../../../src/simulation/index.ts'
import { isDetail, isList } from '../../support/consent-requests.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { dayMs, passTime } from '../../support/pass-time.ts'
import { openWorld } from '../../support/world.ts'

/** A world in which the list of consents is replaced by another answer. */
async function givenList() {
  const list = { answer: () => new Response('[]') }
  const world = await openWorld({
    intercept: async (request, forward) => (isList(request) ? list.answer() : forward(request)),
  })
  const subject = await world.averba.consents.enrol({ cpf: world.samples.cpf })
  const read = (answer: () => Response) => {
    list.answer = answer
    return world.averba.consents.sync({ subject })
  }
  return { world, subject, read }
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

test('an unreadable reading is postponed, and nothing of it is recorded', async () => {
  const { world, read } = await givenList()
  const answers = new Map(
    Object.entries({
      HTML: () => new Response('<html>Manutenção</html>', { headers: { 'content-type': 'text/html' } }),
      'a broken body': () => new Response('[{"id": "a", "sta'),
      'another shape': () => Response.json({ itens: [] }),
      'very deep nesting': () =>
        new Response(`[{"id":"a","status":"ATIVO","x":${'['.repeat(9_000)}${']'.repeat(9_000)}}]`),
      'a body that is too large': () => new Response(`[${' '.repeat(4 * 1_048_576)}]`),
      'more than ten thousand records': () => Response.json(Array.from({ length: 10_001 }, () => 7)),
      nothing: () => new Response(''),
    }),
  )
  for (const [name, answer] of answers) {
    const { status, effect } = await read(() => {
      answers.delete(name)
      return answer()
    })
    expect(status, name).toBe('deferred')
    const reason = name.match(/large|ten thousand/) ? /^ANSWER_TOO_LARGE: / : /^the answer cannot be read/
    expect(await world.averba.effects.get(effect), name).toMatchObject({
      ...{ state: 'deferred', reason: expect.stringMatching(reason) },
    })
  }
  expect(answers).toEqual(new Map())
  expect(await world.averba.views.selectFrom('consents').selectAll().execute()).toEqual([])
})

test('an unreadable record does not hide the others', async () => {
  const list = [consent(), { id: 'b', status: 'SUSPENSO' }, 7, consent({ id: 'c', dataHora: null, extra: 1 })]
  const { world, subject, read } = await givenList()
  expect(valueOf(await read(() => Response.json(list)))).toEqual({ read: 2, changed: 2, unreadable: 2 })
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
  const { world, subject, read } = await givenList()
  const { consents, views } = world.averba
  valueOf(await read(() => Response.json(list)))
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
  const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
    const response = await forward(request)
    if (request.method !== 'PUT') return response
    if (how === 'lost') throw new TypeError('reset')
    return new Response('<html>')
  })
  expect(valueOf(await world.averba.consents.approve({ subject, id: consent.id })).status).toBe('ATIVO')
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
  expect(await readWith({ historico: [{ ...change, dataHora: { a: 1 } }, null] })).toMatchObject({
    historico: [change],
  })
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

describe('a paid answer', () => {
  const claims = { nome: 'MARIA DE EXEMPLO SOUZA', cnh: { categoria: 'B' } }
  const request = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

  /** A world in which validations get other answers. */
  async function givenAnswers(averba: NonNullable<WorldOptions['averba']> = {}) {
    const headers = { 'content-type': 'application/json' }
    const answers: { body: string; status: number }[] = []
    let asked = 0
    const world = await openWorld({
      averba,
      intercept: async (request, forward) => {
        const answer = request.url.includes('/validate/pf') && answers.shift()
        return answer ? new Response(answer.body, { status: answer.status, headers }) : forward(request)
      },
    })
    const { validations, log } = world.averba
    /** The outcome of a validation with this answer, its last event, and what is shown of it. */
    const ask = async (body: string, status = 200, of: Claims = claims) => {
      answers.push({ body, status })
      asked += 1
      const id = `v-${asked}`
      const outcome = await validations.validate({ id, cpf: world.samples.cpf, claims: of })
      const [last] = await Array.fromAsync(log.read({ kind: 'validation', backward: true }))
      return { outcome, last, shown: await validations.get(id) }
    }
    return { world, validations, ask }
  }

  test('is read except for members that cannot be read, and marked', async () => {
    const { ask } = await givenAnswers()
    const nome = { result: 'match' }
    const licence = { 'cnh.categoria': { result: 'not-evaluated' } }
    const similar = { result: 'not-evaluated', similarity: 0.87 }
    const read: [string, string[], object][] = [
      ['{"nome":true,"nome_similaridade":null}', ['nome_similaridade'], { nome, ...licence }],
      ['{"nome":true,"nome_similaridade":"1.0"}', ['nome_similaridade'], { nome, ...licence }],
      ['{"nome":true,"nome_similaridade":1e999}', ['nome_similaridade'], { nome, ...licence }],
      ['{"nome":true,"cnh":null}', ['cnh'], { nome, ...licence }],
      ['{"nome":null,"nome_similaridade":0.87}', ['nome'], { nome: similar, ...licence }],
      ['{"nome":true,"cnh":[{"categoria":true}]}', ['cnh'], { nome, ...licence }],
      [
        '{"nome":true,"cnh":{"categoria":"S","numero_registro":false},"sexo":0,"outro":7}',
        ['sexo', 'cnh.categoria'],
        { nome, ...licence, 'cnh.numero_registro': { result: 'mismatch' } },
      ],
    ]
    for (const [body, unreadable, fields] of read) {
      const { outcome, last } = await ask(body)
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

  test('that is no validation is inconclusive, and stored for a person to examine', async () => {
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

  test('an unreadable answer is erased with its person, unless results are kept', async () => {
    for (const keep of [[], ['validation.result']] as const) {
      const { world, validations, ask } = await givenAnswers()
      await ask('{"nome":"S"}')
      await world.averba.subjects.erase({ cpf: world.samples.cpf }, { ...request, keep })
      const kept = (await validations.get('v-1'))?.unreadable
      expect(kept).toBe(keep.length === 0 ? undefined : '{"nome":"S"}')
    }
  })

  test('an unreadable answer is stored until it is resolved, if results are retained until then', async () => {
    const retention = { 'validation.result': 'until-settled' } as const
    const { world, validations, ask } = await givenAnswers({ schedules: true, retention })
    await ask('{"nome":"S"}')
    const kept = async () => {
      await passTime(world, dayMs)
      return (await validations.get('v-1'))?.unreadable
    }
    expect(await kept()).toBe('{"nome":"S"}')
    await validations.resolve('v-1', { charged: true })
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
