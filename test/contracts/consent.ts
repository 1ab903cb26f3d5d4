import { expect, test } from 'vitest'
import { z } from 'zod'
import * as client from '../../src/adapters/consent/protocol.ts'
import * as wire from '../../src/adapters/consent/wire.ts'
import { readProblem } from '../../src/adapters/http/answer-body.ts'
import type { ConsentPolicies } from '../../src/simulation/services/policies.ts'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import { createPerformers, performOnce } from '../support/performers.ts'
import { cnpj, cpf, dayMs, exact, exactText, open, otherCnpj, secondMs } from './opened-services.ts'

/** The subject whose records a test creates. The sample records belong to another. */
const own = '52998224725'
const dateTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/
const noRecord = '0'.repeat(32)
const [dataHora, dataExpiracao] = ['2026-11-20T12:00:00.000Z', '2026-11-21T12:00:00.000Z']

const titular = { cpf: own, nome: expect.any(String), email: expect.any(String) }
/** The members that purposes, categories and their items have in common. */
const labelled = { identificador: expect.any(String), descricao: expect.any(String), rotulo: expect.any(String) }
const metadados = [false, true].map(sensivel => ({ ...labelled, sensivel }))
const usuario = {
  ...{ cnpj, nome: expect.any(String), email: expect.any(String), contato: expect.any(String) },
  responsavel: { cpf: expect.any(String), cnpj: expect.any(String), tipo: expect.any(String) },
}

async function given(policies: ConsentPolicies = {}) {
  const opened = await open({ consentService: policies })
  const { at, send } = opened
  const base = at.consentService
  const url = `${base}/consentimento/v1`
  const ask = (method: string, path: string) => send(new Request(`${url}/${path}`, { method }))
  const read = (...path: string[]) => send(client.writeReading(base, ...path))
  const change = (id: string, status: string, of = own) => send(client.writeChangeStatus(base, of, id, status))
  const consents = () => exact(wire.consentimentoResumidoSchema.array(), read('consentimentos', own))
  const historyOf = async (id: string) =>
    (await exact(wire.consentimentoDetalhadoSchema, read('consentimentos', own, id))).historico
  /** Lists the ids of consents or awareness records, with the parameter `cnpj` if given. */
  const listIds = async (list: 'consentimentos' | 'ciencias', of: string, filter?: string) => {
    const response = await ask('GET', `${list}/${of}${filter === undefined ? '' : `?cnpj=${filter}`}`)
    expect(response.status).toBe(200)
    const records = z.array(z.looseObject({ id: z.string() })).parse(await response.json())
    return records.map(each => each.id)
  }
  /** The seven operations as the client writes them. */
  const operations = (of: string, id: string): [string, Request][] => [
    ['changeStatus', client.writeChangeStatus(base, of, id, 'ATIVO')],
    ['listConsents', client.writeReading(base, 'consentimentos', of)],
    ['readConsent', client.writeReading(base, 'consentimentos', of, id)],
    ['listAwareness', client.writeReading(base, 'ciencias', of)],
    ['readAwareness', client.writeReading(base, 'ciencias', of, id)],
    ['readLogin', client.writeReading(base, 'autenticacao', of)],
    ['readLoginAddress', client.writeReadLoginAddress(base, of)],
  ]
  /** Performs an operation as the engine does, for a missing record. */
  const perform = (fetch: Fetch, operation: string, of = own) => {
    const parts = { cpf: of, id: noRecord, record: { id: noRecord } }
    return performOnce(createPerformers(fetch, { consentUrl: base }), `consentService.${operation}`, { parts })
  }
  return { ...opened, base, url, ask, read, change, consents, historyOf, listIds, operations, perform }
}

async function expectProblem(answer: Promise<Response>, status: number): Promise<void> {
  const response = await answer
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  const text = await response.text()
  const problem = wire.problemaDetalhadoSchema.strict().parse(JSON.parse(text))
  expect(problem).toMatchObject({ status, detail: null, instance: null, properties: { servico: 'simulado' } })
  expect(URL.canParse(problem.type)).toBe(true)
  expect(readProblem(status, text)).toEqual({ status, type: problem.type, title: problem.title })
}

/** Document 1, line by line. */
export function consentContract(): void {
  test('the seven operations answer JSON at their paths below /consentimento/v1', async () => {
    const { ask, consentService } = await given()
    const consent = consentService.addConsent({ cpf, cnpj })
    const record = consentService.addAwareness({ cpf, cnpj })
    for (const each of [
      `PUT consentimentos/${cpf}/${consent}/status/ATIVO`,
      `GET consentimentos/${cpf}?cnpj=${cnpj}`,
      `GET consentimentos/${cpf}/${consent}`,
      `GET ciencias/${cpf}?cnpj=${cnpj}`,
      `GET ciencias/${cpf}/${record}`,
      `GET autenticacao/${cpf}`,
      `GET autenticacao/${cpf}/url?redirectUrl=https://app.exemplo.br/volta`,
    ]) {
      const [method = '', path = ''] = each.split(' ')
      const response = await ask(method, path)
      expect(response.status, each).toBe(200)
      expect(response.headers.get('content-type'), each).toMatch(/^application\/json\b/)
    }
  })

  test('a consent in a list has the six fields of ConsentimentoResumido, and no others', async () => {
    const { url, send, read, consentService } = await given()
    const id = consentService.addConsent({ cpf: own, cnpj, expiresInMs: dayMs })
    const { body, text } = await exactText(z.array(wire.consentimentoResumidoSchema), read('consentimentos', own))
    const href = `${url}/consentimentos/${own}/${id}`
    const record = { id, status: 'PENDENTE', dataHora, dataExpiracao, cnpjUsuario: cnpj, href }
    expect(body).toEqual([record])
    expect((await send(new Request(href))).status).toBe(200)
    const summary = { status: 'PENDENTE', createdAt: dataHora, expiresAt: dataExpiracao, controller: cnpj }
    expect(await client.readConsents(text)).toEqual({ unreadable: [], items: [{ id, record, summary }] })
  })

  test('a consent in full has every field of ConsentimentoDetalhado at any depth, and no others', async () => {
    const { read, consentService } = await given()
    const id = consentService.addConsent({ cpf: own, cnpj, expiresInMs: dayMs })
    const { body, text } = await exactText(wire.consentimentoDetalhadoSchema, read('consentimentos', own, id))
    const state = { status: 'PENDENTE', dataHora, dataExpiracao }
    expect(body).toEqual({
      ...{ id, idTemplatePdc: expect.any(String), ...state, categoria: { ...labelled, metadados } },
      ...{ usuario, finalidade: labelled, titular, historico: [state] },
    })
    expect(client.readConsent(text, { cpf: own, id })?.detail).toEqual(body)
  })

  test('an awareness record in a list has the four fields of CienciaResumida, and no others', async () => {
    const { url, read, consentService } = await given()
    const id = consentService.addAwareness({ cpf: own, cnpj })
    const { body, text } = await exactText(z.array(wire.cienciaResumidaSchema), read('ciencias', own))
    const record = { id, dataHora, cnpjUsuario: cnpj, href: `${url}/ciencias/${own}/${id}` }
    expect(body).toEqual([record])
    const summary = { createdAt: dataHora, controller: cnpj }
    expect(await client.readAwarenessList(text)).toEqual({ unreadable: [], items: [{ id, record, summary }] })
  })

  test('an awareness record in full has every field of CienciaDetalhada at any depth, and no others', async () => {
    const { read, consentService } = await given()
    const id = consentService.addAwareness({ cpf: own, cnpj })
    const { body, text } = await exactText(wire.cienciaDetalhadaSchema, read('ciencias', own, id))
    const hipoteseTratamento = { envolveDadoSensivel: false, id: expect.any(String), nome: expect.any(String) }
    expect(body).toEqual({
      ...{ id, dataHora, titular, usuario, finalidade: labelled },
      historico: [{ info: expect.any(String), dataHora, dataInicio: dataHora, metadados }],
      hipoteses: [{ complemento: expect.any(String), hipoteseTratamento }],
    })
    expect(client.readAwareness(text, { cpf: own, id })).toEqual(body)
  })

  test('cnpjUsuario, usuario and finalidade may be null in consents and in awareness records', async () => {
    const { read, consentService } = await given()
    const consent = consentService.addConsent({ cpf: own, finalidade: null })
    const record = consentService.addAwareness({ cpf: own, finalidade: null })
    const none = { unreadable: [], items: [{ summary: { controller: null } }] }
    const consents = await (await read('consentimentos', own)).text()
    expect(JSON.parse(consents)).toMatchObject([{ cnpjUsuario: null }])
    expect(await client.readConsents(consents)).toMatchObject(none)
    const records = await (await read('ciencias', own)).text()
    expect(JSON.parse(records)).toMatchObject([{ cnpjUsuario: null }])
    expect(await client.readAwarenessList(records)).toMatchObject(none)
    const inFull = { usuario: null, finalidade: null }
    const consentText = await (await read('consentimentos', own, consent)).text()
    expect(client.readConsent(consentText, { cpf: own, id: consent })?.detail).toMatchObject(inFull)
    const recordText = await (await read('ciencias', own, record)).text()
    expect(client.readAwareness(recordText, { cpf: own, id: record })).toMatchObject(inFull)
  })

  test('times are ISO 8601 date-times', async () => {
    const { read } = await given()
    const texts: string[] = []
    const collect = (value: unknown, key = ''): void => {
      if (/^(data|hora)[A-Z]/.test(key)) texts.push(String(value))
      else if (typeof value === 'object' && value !== null)
        for (const [name, member] of Object.entries(value)) collect(member, name)
    }
    const readTimes = async (...path: string[]) => {
      const body = await (await read(...path)).json()
      collect(body)
      return body
    }
    for (const list of ['consentimentos', 'ciencias'])
      for (const { id } of await readTimes(list, cpf)) await readTimes(list, cpf, id)
    await readTimes('autenticacao', cpf)
    expect(texts.length).toBeGreaterThan(20)
    for (const text of texts) expect(text).toMatch(dateTime)
  })

  test('a login state has autenticado and horaExpiracao, and no others', async () => {
    const { read, consentService, clock } = await given()
    const ask = () => exactText(wire.titularAutenticadoStatusSchema, read('autenticacao', own))
    expect((await ask()).body).toEqual({ autenticado: false, horaExpiracao: dataHora })
    consentService.logIn(own, clock.now() + 60 * secondMs)
    const { body, text } = await ask()
    const horaExpiracao = '2026-11-20T12:01:00.000Z'
    expect(body).toEqual({ autenticado: true, horaExpiracao })
    expect(client.readLogin(text)).toEqual({ isAuthenticated: true, expiresAt: horaExpiracao })
    await clock.advance(60 * secondMs)
    expect((await ask()).body).toMatchObject({ autenticado: false })
  })

  test('a login address has url only, which returns to redirectUrl if given', async () => {
    const { base, send } = await given()
    const redirectUrl = 'https://app.exemplo.br/volta?a=1&b=ç'
    const ask = async (target?: string) => {
      const { body, text } = await exactText(
        wire.titularLoginUrlSchema,
        send(client.writeReadLoginAddress(base, own, target)),
      )
      expect(client.readLoginAddress(text)).toBe(body.url)
      return new URL(body.url).searchParams.get('redirectUrl')
    }
    expect(await ask(redirectUrl)).toBe(redirectUrl)
    expect(await ask()).toBeNull()
  })

  test.each([
    ['PENDENTE', 'ATIVO'],
    ['PENDENTE', 'NEGADO'],
    ['ATIVO', 'REVOGADO'],
  ] as const)('a change from %s to %s answers the updated summary', async (from, to) => {
    const { change, consents, consentService } = await given()
    const id = consentService.addConsent({ cpf: own, status: from, cnpj })
    const { body, text } = await exactText(wire.consentimentoResumidoSchema, change(id, to))
    expect(body).toMatchObject({ id, status: to })
    expect(client.readChanged(text, id)).toMatchObject({ status: to })
    expect(consentService.statusOf(own, id)).toBe(to)
    expect(await consents()).toMatchObject([{ status: to }])
  })

  test('a move outside the table is a 400, and changes nothing', async () => {
    const { change, consentService } = await given()
    const table = ['PENDENTE ATIVO', 'PENDENTE NEGADO', 'ATIVO REVOGADO']
    const moves = wire.statusSchema.options.flatMap(from =>
      ['ATIVO', 'NEGADO', 'REVOGADO'].map(to => [from, to] as const),
    )
    const outside = moves.filter(([from, to]) => !table.includes(`${from} ${to}`))
    expect(outside).toHaveLength(12)
    for (const [from, to] of outside) {
      const id = consentService.addConsent({ cpf: own, status: from })
      await expectProblem(change(id, to), 400)
      expect(consentService.statusOf(own, id)).toBe(from)
    }
    const id = consentService.addConsent({ cpf: own })
    for (const status of ['PENDENTE', 'EXPIRADO', 'ativo', 'SUSPENSO']) await expectProblem(change(id, status), 400)
    expect(consentService.statusOf(own, id)).toBe('PENDENTE')
  })

  test('by policy a move outside the table is a 409', async () => {
    const { change, consentService } = await given({ moveOutsideTable: 'conflict' })
    const id = consentService.addConsent({ cpf: own, status: 'NEGADO' })
    await expectProblem(change(id, 'ATIVO'), 409)
    expect(consentService.statusOf(own, id)).toBe('NEGADO')
  })

  test('by policy a move outside the table is accepted', async () => {
    const { change, consentService } = await given({ moveOutsideTable: 'accept' })
    for (const from of wire.statusSchema.options) {
      const id = consentService.addConsent({ cpf: own, status: from })
      expect(client.readChanged(await (await change(id, 'ATIVO')).text(), id)).toMatchObject({ status: 'ATIVO' })
      expect(consentService.statusOf(own, id)).toBe('ATIVO')
    }
  })

  test('each change adds its status, time and expiry to historico', async () => {
    const { change, historyOf, consentService, clock } = await given()
    const id = consentService.addConsent({ cpf: own, expiresInMs: dayMs })
    const pending = { status: 'PENDENTE', dataHora, dataExpiracao }
    const active = { status: 'ATIVO', dataHora: '2026-11-20T12:00:01.000Z', dataExpiracao }
    const revoked = { status: 'REVOGADO', dataHora: '2026-11-20T12:00:02.000Z', dataExpiracao }
    expect(await historyOf(id)).toEqual([pending])
    await clock.advance(secondMs)
    await change(id, 'ATIVO')
    expect(await historyOf(id)).toEqual([pending, active])
    await clock.advance(secondMs)
    await change(id, 'REVOGADO')
    expect(await historyOf(id)).toEqual([pending, active, revoked])
    await change(id, 'ATIVO')
    expect(await historyOf(id)).toEqual([pending, active, revoked])
  })

  test('at dataExpiracao PENDENTE and ATIVO become EXPIRADO, and other statuses stay', async () => {
    const { change, consents, historyOf, consentService, clock } = await given()
    const [active = ''] = wire.statusSchema.options.map(status =>
      consentService.addConsent({ cpf: own, status, expiresInMs: dayMs }),
    )
    const statuses = async () => (await consents()).map(each => each.status)
    await clock.advance(dayMs - 1)
    expect(await statuses()).toEqual(['ATIVO', 'NEGADO', 'REVOGADO', 'PENDENTE', 'EXPIRADO'])
    await clock.advance(1)
    expect(await statuses()).toEqual(['EXPIRADO', 'NEGADO', 'REVOGADO', 'EXPIRADO', 'EXPIRADO'])
    expect((await historyOf(active)).map(each => each.status)).toEqual(['ATIVO', 'EXPIRADO'])
    await expectProblem(change(active, 'REVOGADO'), 400)
  })

  test('both lists have all records of the subject, or with cnpj those of that controller', async () => {
    const { listIds, consentService } = await given()
    const owners = [{ cpf: own, cnpj }, { cpf: own, cnpj: otherCnpj }, { cpf: own }]
    for (const [list, ids] of [
      ['consentimentos', owners.map(consentService.addConsent)],
      ['ciencias', owners.map(consentService.addAwareness)],
    ] as const) {
      expect(await listIds(list, own)).toEqual(ids)
      expect(await listIds(list, own, cnpj)).toEqual([ids[0]])
      expect(await listIds(list, own, otherCnpj)).toEqual([ids[1]])
      expect(await listIds(list, own, '11222333000181')).toEqual([])
      expect(await listIds(list, '11144477735')).toEqual([])
    }
  })

  test('no operation changes an awareness record or a login state', async () => {
    const { ask, read, consentService } = await given()
    const record = consentService.addAwareness({ cpf: own })
    const recordText = async () => (await read('ciencias', own, record)).text()
    const before = await recordText()
    for (const path of [`ciencias/${own}/${record}`, `ciencias/${own}`, `autenticacao/${own}`])
      for (const method of ['PUT', 'POST', 'PATCH', 'DELETE']) {
        const refused = await ask(method, path)
        expect([refused.status, refused.headers.has('allow')], `${method} ${path}`).toEqual([405, true])
      }
    expect(await recordText()).toBe(before)
  })

  test('operations 1 to 5 reach only the records of the named subject', async () => {
    const { read, change, listIds, consentService } = await given()
    const consent = consentService.addConsent({ cpf: own })
    const record = consentService.addAwareness({ cpf: own })
    expect(await listIds('consentimentos', cpf)).not.toContain(consent)
    expect(await listIds('ciencias', cpf)).not.toContain(record)
    expect((await read('consentimentos', cpf, consent)).status).toBe(404)
    expect((await read('ciencias', cpf, record)).status).toBe(404)
    expect((await change(consent, 'ATIVO', cpf)).status).toBe(404)
    expect(consentService.statusOf(own, consent)).toBe('PENDENTE')
  })

  test('a missing record is a 404, and declined by the client', async () => {
    const { send, operations, perform } = await given()
    const ofRecord = ['changeStatus', 'readConsent', 'readAwareness']
    for (const [operation, request] of operations(own, noRecord))
      if (ofRecord.includes(operation)) await expectProblem(send(request), 404)
    const declined = { status: 'declined', fact: { data: { httpStatus: 404 } } }
    expect(await perform(send, 'readConsent')).toMatchObject(declined)
  })

  test('only the client certificate identifies the caller: no token, header or body is sent', async () => {
    const { send, operations } = await given()
    for (const [operation, request] of operations(own, noRecord)) {
      expect([...request.headers], operation).toEqual([['accept', 'application/json, application/problem+json']])
      expect(request.body, operation).toBeNull()
      expect((await send(request)).status, operation).not.toBe(401)
    }
  })

  test('without a client certificate every operation is a 401, whatever its headers', async () => {
    const { sendWithoutCertificate, operations } = await given()
    for (const [, request] of operations(own, noRecord)) {
      await expectProblem(sendWithoutCertificate(request.clone()), 401)
      request.headers.set('authorization', 'Bearer x')
      await expectProblem(sendWithoutCertificate(request), 401)
    }
  })

  test.each([
    [undefined, []],
    [{}, []],
    [['gestora-de-exemplo'], []],
    [['outra'], [1, 2, 3, 4, 5]],
    [[], [1, 2, 3, 4, 5]],
    [{ 1: ['outra'] }, [1]],
    [{ 2: ['outra'] }, [2]],
    [{ 3: ['outra'] }, [3]],
    [{ 4: [] }, [4]],
    [{ 5: ['outra'] }, [5]],
    [{ 1: ['gestora-de-exemplo', 'outra'], 2: ['outra'], 4: ['gestora-de-exemplo'], 5: [] }, [2, 5]],
  ] as [ConsentPolicies['authorizedClients'], number[]][])(
    'by policy %j the operations %j answer the caller 403',
    async (authorizedClients, refused) => {
      const { send, operations, consentService } = await given({ authorizedClients })
      const ofConsent = operations(own, consentService.addConsent({ cpf: own }))
      const ofRecord = operations(own, consentService.addAwareness({ cpf: own }))
      for (const [i, [name, request]] of ofConsent.entries()) {
        const answer = send((name === 'readAwareness' && ofRecord[i]?.[1]) || request)
        if (refused.includes(i + 1)) await expectProblem(answer, 403)
        else expect((await answer).status, name).toBe(200)
      }
    },
  )

  test('an unauthorized caller gets the 403 before the CPF is checked', async () => {
    const { read } = await given({ authorizedClients: { 2: [] } })
    await expectProblem(read('consentimentos', '25774435017'), 403)
    await expectProblem(read('ciencias', '25774435017'), 400)
  })

  test('a CPF in a wrong format or with wrong check digits is a 400 in every operation', async () => {
    const { send, operations } = await given()
    for (const wrong of ['25774435017', '257.744.350-16', '2577443501', 'x'])
      for (const [, request] of operations(wrong, noRecord)) await expectProblem(send(request), 400)
  })

  test('a fault inside the service is a 500', async () => {
    const { send, read, operations, consentService, faults } = await given()
    const id = consentService.addConsent({ cpf: own })
    // The service cannot write an unknown status, or an instant that no date can represent.
    consentService.change(own, id, 'SUSPENSO' as never)
    consentService.logIn(own, Number.POSITIVE_INFINITY)
    await expectProblem(read('consentimentos', own), 500)
    await expectProblem(read('autenticacao', own), 500)
    faults.add({ kind: 'status', service: 'consentService', status: 500 })
    for (const [operation, request] of operations(own, id)) expect((await send(request)).status, operation).toBe(500)
  })

  test('a fault of 403 spares the operations that have none in the contract', async () => {
    const { send, operations, consentService, faults } = await given()
    const id = consentService.addConsent({ cpf: own })
    faults.add({ kind: 'status', service: 'consentService', status: 403 })
    const refused: boolean[] = []
    for (const [, request] of operations(own, id)) refused.push((await send(request)).status === 403)
    expect(refused).toEqual([true, true, true, true, true, false, false])
  })

  test('400 and 401 are declined by the client in each of the seven operations, with the problem', async () => {
    const { send, sendWithoutCertificate, operations, perform } = await given()
    for (const [operation] of operations(own, noRecord)) {
      const declined = (status: number, title?: string) => ({
        status: 'declined',
        fact: { data: { httpStatus: status }, parts: { problem: { value: { status, ...(title && { title }) } } } },
      })
      const unknown = await perform(sendWithoutCertificate, operation)
      expect(unknown, operation).toMatchObject(declined(401, 'Chamador não autenticado'))
      expect(await perform(send, operation, '25774435017'), operation).toMatchObject(declined(400))
    }
  })

  test('an id has 32 hexadecimal digits, and each is different', async () => {
    const { consentService } = await given()
    const ids = Array.from({ length: 20 }, (_, i) =>
      i % 2 ? consentService.addConsent({ cpf: own }) : consentService.addAwareness({ cpf: own }),
    )
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
    expect(new Set(ids).size).toBe(20)
  })
}
