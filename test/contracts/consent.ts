import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  readAwareness,
  readAwarenessList,
  readChanged,
  readConsent,
  readConsents,
  readLogin,
  readLoginAddress,
  writeChangeStatus,
  writeReading,
  writeReadLoginAddress,
} from '../../src/adapters/consent/protocol.ts'
import {
  cienciaDetalhadaSchema,
  cienciaResumidaSchema,
  consentimentoDetalhadoSchema,
  consentimentoResumidoSchema,
  problemaDetalhadoSchema,
  statusSchema,
  titularAutenticadoStatusSchema,
  titularLoginUrlSchema,
} from '../../src/adapters/consent/wire.ts'
import { readProblem } from '../../src/adapters/http/answer-body.ts'
import type { ConsentPolicies } from '../../src/simulation/services/policies.ts'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import { createPerformers, performOnce } from '../support/performers.ts'
import { cnpj, cpf, dayMs, exact, type Open, type OpenedServices, otherCnpj, secondMs } from './opened-services.ts'

/** The subject whose records a test creates. The sample records belong to another. */
const own = '52998224725'
const dateTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/
const noRecord = '0'.repeat(32)

/** The seven operations as the client writes them. */
function operations(base: string, of: string, id: string): [string, Request][] {
  return [
    ['changeStatus', writeChangeStatus(base, of, id, 'ATIVO')],
    ['listConsents', writeReading(base, 'consentimentos', of)],
    ['readConsent', writeReading(base, 'consentimentos', of, id)],
    ['listAwareness', writeReading(base, 'ciencias', of)],
    ['readAwareness', writeReading(base, 'ciencias', of, id)],
    ['readLogin', writeReading(base, 'autenticacao', of)],
    ['readLoginAddress', writeReadLoginAddress(base, of)],
  ]
}

async function expectProblem(response: Response, status: number): Promise<void> {
  expect(response.status).toBe(status)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  const text = await response.text()
  const problem = problemaDetalhadoSchema.strict().parse(JSON.parse(text))
  expect(problem).toMatchObject({ status, detail: null, instance: null, properties: { servico: 'simulado' } })
  expect(URL.canParse(problem.type)).toBe(true)
  expect(readProblem(status, text)).toEqual({ status, type: problem.type, title: problem.title })
}

/** Lists the ids of consents or awareness records, with the parameter `cnpj` if given. */
async function listIds({ at, send }: OpenedServices, list: 'consentimentos' | 'ciencias', of: string, filter?: string) {
  const query = filter === undefined ? '' : `?cnpj=${filter}`
  const url = `${at.consentService}/consentimento/v1/${list}/${of}${query}`
  const response = await send(new Request(url))
  expect(response.status).toBe(200)
  return z
    .array(z.looseObject({ id: z.string() }))
    .parse(await response.json())
    .map(each => each.id)
}

/** Document 1, line by line, in process or over TLS. */
export function consentContract(open: Open): void {
  describe('the consent service', () => {
    test('the seven operations answer JSON at their paths below /consentimento/v1', async () => {
      const { at, send, consentService } = await open()
      const consent = consentService.addConsent({ cpf, cnpj })
      const record = consentService.addAwareness({ cpf, cnpj })
      const paths = [
        `PUT consentimentos/${cpf}/${consent}/status/ATIVO`,
        `GET consentimentos/${cpf}?cnpj=${cnpj}`,
        `GET consentimentos/${cpf}/${consent}`,
        `GET ciencias/${cpf}?cnpj=${cnpj}`,
        `GET ciencias/${cpf}/${record}`,
        `GET autenticacao/${cpf}`,
        `GET autenticacao/${cpf}/url?redirectUrl=https://app.exemplo.br/volta`,
      ]
      for (const each of paths) {
        const [method = '', path = ''] = each.split(' ')
        const url = `${at.consentService}/consentimento/v1/${path}`
        const response = await send(new Request(url, { method }))
        expect(response.status, each).toBe(200)
        expect(response.headers.get('content-type'), each).toMatch(/^application\/json\b/)
      }
    })

    test('a consent in a list has the six fields of ConsentimentoResumido, and no others', async () => {
      const { at, send, consentService } = await open()
      const id = consentService.addConsent({ cpf: own, cnpj, expiresInMs: dayMs })
      const response = await send(writeReading(at.consentService, 'consentimentos', own))
      const text = await response.clone().text()
      const [only] = await exact(z.array(consentimentoResumidoSchema), response)
      expect(only).toEqual({
        id,
        status: 'PENDENTE',
        dataHora: '2026-11-20T12:00:00.000Z',
        dataExpiracao: '2026-11-21T12:00:00.000Z',
        cnpjUsuario: cnpj,
        href: `${at.consentService}/consentimento/v1/consentimentos/${own}/${id}`,
      })
      expect((await send(new Request(only?.href ?? ''))).status).toBe(200)
      expect(await readConsents(text)).toEqual({
        unreadable: [],
        items: [
          {
            id,
            record: only,
            summary: {
              status: 'PENDENTE',
              createdAt: only?.dataHora,
              expiresAt: only?.dataExpiracao,
              controller: cnpj,
            },
          },
        ],
      })
    })

    test('a consent in full has every field of ConsentimentoDetalhado at any depth, and no others', async () => {
      const { at, send, consentService } = await open()
      const id = consentService.addConsent({ cpf: own, cnpj, expiresInMs: dayMs })
      const response = await send(writeReading(at.consentService, 'consentimentos', own, id))
      const text = await response.clone().text()
      const detail = await exact(consentimentoDetalhadoSchema, response)
      const dataExpiracao = '2026-11-21T12:00:00.000Z'
      const dataHora = '2026-11-20T12:00:00.000Z'
      expect(detail).toEqual({
        id,
        idTemplatePdc: expect.any(String),
        status: 'PENDENTE',
        dataHora,
        dataExpiracao,
        categoria: { ...labelled, metadados },
        usuario: controller,
        finalidade: labelled,
        titular,
        historico: [{ status: 'PENDENTE', dataHora, dataExpiracao }],
      })
      expect(readConsent(text, { cpf: own, id })?.detail).toEqual(detail)
    })

    test('an awareness record in a list has the four fields of CienciaResumida, and no others', async () => {
      const { at, send, consentService } = await open()
      const id = consentService.addAwareness({ cpf: own, cnpj })
      const response = await send(writeReading(at.consentService, 'ciencias', own))
      const text = await response.clone().text()
      const [only] = await exact(z.array(cienciaResumidaSchema), response)
      expect(only).toEqual({
        id,
        dataHora: '2026-11-20T12:00:00.000Z',
        cnpjUsuario: cnpj,
        href: `${at.consentService}/consentimento/v1/ciencias/${own}/${id}`,
      })
      const summary = { createdAt: only?.dataHora, controller: cnpj }
      expect(await readAwarenessList(text)).toEqual({ unreadable: [], items: [{ id, record: only, summary }] })
    })

    test('an awareness record in full has every field of CienciaDetalhada at any depth, and no others', async () => {
      const { at, send, consentService } = await open()
      const id = consentService.addAwareness({ cpf: own, cnpj })
      const response = await send(writeReading(at.consentService, 'ciencias', own, id))
      const text = await response.clone().text()
      const detail = await exact(cienciaDetalhadaSchema, response)
      const dataHora = '2026-11-20T12:00:00.000Z'
      expect(detail).toEqual({
        id,
        dataHora,
        titular,
        usuario: controller,
        finalidade: labelled,
        historico: [
          {
            info: expect.any(String),
            dataHora,
            dataInicio: dataHora,
            metadados,
          },
        ],
        hipoteses: [
          {
            complemento: expect.any(String),
            hipoteseTratamento: {
              envolveDadoSensivel: false,
              id: expect.any(String),
              nome: expect.any(String),
            },
          },
        ],
      })
      expect(readAwareness(text, { cpf: own, id })).toEqual(detail)
    })

    test('cnpjUsuario, usuario and finalidade may be null in consents and in awareness records', async () => {
      const { at, send, consentService } = await open()
      const base = at.consentService
      const consent = consentService.addConsent({ cpf: own, finalidade: null })
      const record = consentService.addAwareness({ cpf: own, finalidade: null })
      const consents = await (await send(writeReading(base, 'consentimentos', own))).text()
      expect(JSON.parse(consents)).toMatchObject([{ cnpjUsuario: null }])
      expect(await readConsents(consents)).toMatchObject({
        unreadable: [],
        items: [{ summary: { controller: null } }],
      })
      const records = await (await send(writeReading(base, 'ciencias', own))).text()
      expect(JSON.parse(records)).toMatchObject([{ cnpjUsuario: null }])
      expect(await readAwarenessList(records)).toMatchObject({
        unreadable: [],
        items: [{ summary: { controller: null } }],
      })
      const inFull = { usuario: null, finalidade: null }
      const consentText = await (await send(writeReading(base, 'consentimentos', own, consent))).text()
      expect(readConsent(consentText, { cpf: own, id: consent })?.detail).toMatchObject(inFull)
      const recordText = await (await send(writeReading(base, 'ciencias', own, record))).text()
      expect(readAwareness(recordText, { cpf: own, id: record })).toMatchObject(inFull)
    })

    test('times are ISO 8601 date-times', async () => {
      const { at, send } = await open()
      const texts: string[] = []
      const collect = (value: unknown, key = ''): void => {
        if (/^(data|hora)[A-Z]/.test(key)) texts.push(String(value))
        else if (typeof value === 'object' && value !== null)
          for (const [name, member] of Object.entries(value)) collect(member, name)
      }
      const read = async (request: Request) => {
        const body: unknown = await (await send(request)).json()
        collect(body)
        return body
      }
      const base = at.consentService
      const consents = consentimentoResumidoSchema.array().parse(await read(writeReading(base, 'consentimentos', cpf)))
      const records = cienciaResumidaSchema.array().parse(await read(writeReading(base, 'ciencias', cpf)))
      for (const { id } of consents) await read(writeReading(base, 'consentimentos', cpf, id))
      for (const { id } of records) await read(writeReading(base, 'ciencias', cpf, id))
      await read(writeReading(base, 'autenticacao', cpf))
      expect(texts.length).toBeGreaterThan(20)
      for (const text of texts) expect(text).toMatch(dateTime)
    })

    test('a login state has autenticado and horaExpiracao, and no others', async () => {
      const { at, send, consentService, clock } = await open()
      const ask = () => send(writeReading(at.consentService, 'autenticacao', own))
      const loggedOut = { autenticado: false, horaExpiracao: '2026-11-20T12:00:00.000Z' }
      expect(await exact(titularAutenticadoStatusSchema, await ask())).toEqual(loggedOut)
      consentService.logIn(own, clock.now() + 60 * secondMs)
      const text = await (await ask()).text()
      const horaExpiracao = '2026-11-20T12:01:00.000Z'
      expect(JSON.parse(text)).toEqual({ autenticado: true, horaExpiracao })
      expect(readLogin(text)).toEqual({ isAuthenticated: true, expiresAt: horaExpiracao })
      await clock.advance(60 * secondMs)
      expect(await exact(titularAutenticadoStatusSchema, await ask())).toMatchObject({ autenticado: false })
    })

    test('a login address has url only, which returns to redirectUrl if given', async () => {
      const { at, send } = await open()
      const redirectUrl = 'https://app.exemplo.br/volta?a=1&b=ç'
      const ask = async (target?: string) => {
        const response = await send(writeReadLoginAddress(at.consentService, own, target))
        const text = await response.clone().text()
        const { url } = await exact(titularLoginUrlSchema, response)
        expect(readLoginAddress(text)).toBe(url)
        return new URL(url)
      }
      expect((await ask(redirectUrl)).searchParams.get('redirectUrl')).toBe(redirectUrl)
      expect((await ask()).searchParams.get('redirectUrl')).toBeNull()
    })

    test.each([
      ['PENDENTE', 'ATIVO'],
      ['PENDENTE', 'NEGADO'],
      ['ATIVO', 'REVOGADO'],
    ] as const)('a change from %s to %s answers the updated summary', async (from, to) => {
      const { at, send, consentService } = await open()
      const id = consentService.addConsent({ cpf: own, status: from, cnpj })
      const response = await send(writeChangeStatus(at.consentService, own, id, to))
      const text = await response.clone().text()
      expect(await exact(consentimentoResumidoSchema, response)).toMatchObject({ id, status: to })
      expect(readChanged(text, id)).toMatchObject({ status: to })
      expect(consentService.statusOf(own, id)).toBe(to)
      const [listed] = await exact(
        consentimentoResumidoSchema.array(),
        await send(writeReading(at.consentService, 'consentimentos', own)),
      )
      expect(listed?.status).toBe(to)
    })

    test('a move outside the table is a 400, and changes nothing', async () => {
      const { at, send, consentService } = await open()
      const table = ['PENDENTE ATIVO', 'PENDENTE NEGADO', 'ATIVO REVOGADO']
      let outside = 0
      for (const from of statusSchema.options) {
        for (const to of ['ATIVO', 'NEGADO', 'REVOGADO']) {
          if (table.includes(`${from} ${to}`)) continue
          outside += 1
          const id = consentService.addConsent({ cpf: own, status: from })
          await expectProblem(await send(writeChangeStatus(at.consentService, own, id, to)), 400)
          expect(consentService.statusOf(own, id)).toBe(from)
        }
      }
      expect(outside).toBe(12)
    })

    test('by policy a move outside the table is a 409', async () => {
      const { at, send, consentService } = await open({ consentService: { moveOutsideTable: 'conflict' } })
      const id = consentService.addConsent({ cpf: own, status: 'NEGADO' })
      await expectProblem(await send(writeChangeStatus(at.consentService, own, id, 'ATIVO')), 409)
      expect(consentService.statusOf(own, id)).toBe('NEGADO')
    })

    test('by policy a move outside the table is accepted', async () => {
      const { at, send, consentService } = await open({ consentService: { moveOutsideTable: 'accept' } })
      for (const from of statusSchema.options) {
        const id = consentService.addConsent({ cpf: own, status: from })
        const answer = await send(writeChangeStatus(at.consentService, own, id, 'ATIVO'))
        expect(readChanged(await answer.text(), id)).toMatchObject({ status: 'ATIVO' })
        expect(consentService.statusOf(own, id)).toBe('ATIVO')
      }
    })

    test('a status that cannot be requested is a 400, and changes nothing', async () => {
      const { at, send, consentService } = await open()
      const id = consentService.addConsent({ cpf: own })
      for (const status of ['PENDENTE', 'EXPIRADO', 'ativo', 'SUSPENSO']) {
        await expectProblem(await send(writeChangeStatus(at.consentService, own, id, status)), 400)
      }
      expect(consentService.statusOf(own, id)).toBe('PENDENTE')
    })

    test('each change adds its status, time and expiry to historico', async () => {
      const { at, send, consentService, clock } = await open()
      const id = consentService.addConsent({ cpf: own, expiresInMs: dayMs })
      const historico = async () => {
        const response = await send(writeReading(at.consentService, 'consentimentos', own, id))
        return (await exact(consentimentoDetalhadoSchema, response)).historico
      }
      const dataExpiracao = '2026-11-21T12:00:00.000Z'
      const pending = { status: 'PENDENTE', dataHora: '2026-11-20T12:00:00.000Z', dataExpiracao }
      const active = { status: 'ATIVO', dataHora: '2026-11-20T12:00:01.000Z', dataExpiracao }
      const revoked = { status: 'REVOGADO', dataHora: '2026-11-20T12:00:02.000Z', dataExpiracao }
      expect(await historico()).toEqual([pending])
      await clock.advance(secondMs)
      await send(writeChangeStatus(at.consentService, own, id, 'ATIVO'))
      expect(await historico()).toEqual([pending, active])
      await clock.advance(secondMs)
      await send(writeChangeStatus(at.consentService, own, id, 'REVOGADO'))
      expect(await historico()).toEqual([pending, active, revoked])
      await send(writeChangeStatus(at.consentService, own, id, 'ATIVO'))
      expect(await historico()).toEqual([pending, active, revoked])
    })

    test('at dataExpiracao PENDENTE and ATIVO become EXPIRADO, and other statuses stay', async () => {
      const { at, send, consentService, clock } = await open()
      const ids = statusSchema.options.map(status =>
        consentService.addConsent({ cpf: own, status, expiresInMs: dayMs }),
      )
      const statuses = async () => {
        const response = await send(writeReading(at.consentService, 'consentimentos', own))
        return (await exact(consentimentoResumidoSchema.array(), response)).map(each => each.status)
      }
      expect(statusSchema.options).toEqual(['ATIVO', 'NEGADO', 'REVOGADO', 'PENDENTE', 'EXPIRADO'])
      await clock.advance(dayMs - 1)
      expect(await statuses()).toEqual(['ATIVO', 'NEGADO', 'REVOGADO', 'PENDENTE', 'EXPIRADO'])
      await clock.advance(1)
      expect(await statuses()).toEqual(['EXPIRADO', 'NEGADO', 'REVOGADO', 'EXPIRADO', 'EXPIRADO'])
      const [active = ''] = ids
      const response = await send(writeReading(at.consentService, 'consentimentos', own, active))
      const { historico } = await exact(consentimentoDetalhadoSchema, response)
      expect(historico.map(each => each.status)).toEqual(['ATIVO', 'EXPIRADO'])
      await expectProblem(await send(writeChangeStatus(at.consentService, own, active, 'REVOGADO')), 400)
    })

    test('both lists have all records of the subject, or with cnpj those of that controller', async () => {
      const opened = await open()
      const { consentService } = opened
      const consents = [cnpj, otherCnpj, undefined].map(each =>
        consentService.addConsent({ cpf: own, ...(each !== undefined && { cnpj: each }) }),
      )
      const records = [cnpj, otherCnpj, undefined].map(each =>
        consentService.addAwareness({ cpf: own, ...(each !== undefined && { cnpj: each }) }),
      )
      expect(await listIds(opened, 'consentimentos', own)).toEqual(consents)
      expect(await listIds(opened, 'ciencias', own)).toEqual(records)
      expect(await listIds(opened, 'consentimentos', own, cnpj)).toEqual([consents[0]])
      expect(await listIds(opened, 'ciencias', own, cnpj)).toEqual([records[0]])
      expect(await listIds(opened, 'consentimentos', own, otherCnpj)).toEqual([consents[1]])
      expect(await listIds(opened, 'ciencias', own, '11222333000181')).toEqual([])
      for (const list of ['consentimentos', 'ciencias'] as const)
        expect(await listIds(opened, list, '11144477735')).toEqual([])
    })

    test('no operation changes an awareness record or a login state', async () => {
      const { at, send, consentService } = await open()
      const record = consentService.addAwareness({ cpf: own })
      const read = async () => (await send(writeReading(at.consentService, 'ciencias', own, record))).text()
      const before = await read()
      for (const path of [`ciencias/${own}/${record}`, `ciencias/${own}`, `autenticacao/${own}`]) {
        for (const method of ['PUT', 'POST', 'PATCH', 'DELETE']) {
          const url = `${at.consentService}/consentimento/v1/${path}`
          const refused = await send(new Request(url, { method }))
          expect([refused.status, refused.headers.has('allow')], `${method} ${path}`).toEqual([405, true])
        }
      }
      expect(await read()).toBe(before)
    })

    test('operations 1 to 5 reach only the records of the named subject', async () => {
      const opened = await open()
      const { at, send, consentService } = opened
      const consent = consentService.addConsent({ cpf: own })
      const record = consentService.addAwareness({ cpf: own })
      expect(await listIds(opened, 'consentimentos', cpf)).not.toContain(consent)
      expect(await listIds(opened, 'ciencias', cpf)).not.toContain(record)
      const base = at.consentService
      expect((await send(writeReading(base, 'consentimentos', cpf, consent))).status).toBe(404)
      expect((await send(writeReading(base, 'ciencias', cpf, record))).status).toBe(404)
      expect((await send(writeChangeStatus(base, cpf, consent, 'ATIVO'))).status).toBe(404)
      expect(consentService.statusOf(own, consent)).toBe('PENDENTE')
    })

    test('a missing record is a 404, and declined by the client', async () => {
      const { at, send } = await open()
      for (const [operation, request] of operations(at.consentService, own, noRecord)) {
        if (operation === 'changeStatus' || operation === 'readConsent' || operation === 'readAwareness')
          await expectProblem(await send(request), 404)
      }
      const outcome = await perform(send, at.consentService, 'readConsent')
      expect(outcome).toMatchObject({ status: 'declined', fact: { data: { httpStatus: 404 } } })
    })

    test('only the client certificate identifies the caller: no token, header or body is sent', async () => {
      const { at, send } = await open()
      for (const [operation, request] of operations(at.consentService, own, noRecord)) {
        expect([...request.headers], operation).toEqual([['accept', 'application/json, application/problem+json']])
        expect(request.body, operation).toBeNull()
        expect((await send(request)).status, operation).not.toBe(401)
      }
    })

    test('without a client certificate every operation is a 401, whatever its headers', async () => {
      const { at, sendWithoutCertificate } = await open()
      for (const [, request] of operations(at.consentService, own, noRecord)) {
        await expectProblem(await sendWithoutCertificate(request.clone()), 401)
        request.headers.set('authorization', 'Bearer x')
        await expectProblem(await sendWithoutCertificate(request), 401)
      }
    })

    /** Lists the operations that answer 403 under a policy, by number. The others answer 200. */
    const forbidden = async (authorizedClients: ConsentPolicies['authorizedClients']) => {
      const { at, send, consentService } = await open({ consentService: { authorizedClients } })
      const base = at.consentService
      const consent = operations(base, own, consentService.addConsent({ cpf: own }))
      const record = operations(base, own, consentService.addAwareness({ cpf: own }))
      const refused: number[] = []
      for (const [index, [name, request]] of consent.entries()) {
        const response = await send((name === 'readAwareness' && record[index]?.[1]) || request)
        if (response.status === 403) {
          await expectProblem(response, 403)
          refused.push(index + 1)
        } else expect(response.status, name).toBe(200)
      }
      return refused
    }

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
        expect(await forbidden(authorizedClients)).toEqual(refused)
      },
    )

    test('an unauthorized caller gets the 403 before the CPF is checked', async () => {
      const { at, send } = await open({ consentService: { authorizedClients: { 2: [] } } })
      await expectProblem(await send(writeReading(at.consentService, 'consentimentos', '25774435017')), 403)
      await expectProblem(await send(writeReading(at.consentService, 'ciencias', '25774435017')), 400)
    })

    test('a CPF in a wrong format or with wrong check digits is a 400 in every operation', async () => {
      const { at, send } = await open()
      for (const wrong of ['25774435017', '257.744.350-16', '2577443501', 'x']) {
        for (const [, request] of operations(at.consentService, wrong, noRecord)) {
          await expectProblem(await send(request), 400)
        }
      }
    })

    test('a fault inside the service is a 500', async () => {
      const { at, send, consentService, faults } = await open()
      const id = consentService.addConsent({ cpf: own })
      // The service cannot write an unknown status, or an instant that no date can represent.
      consentService.change(own, id, 'SUSPENSO' as never)
      consentService.logIn(own, Number.POSITIVE_INFINITY)
      await expectProblem(await send(writeReading(at.consentService, 'consentimentos', own)), 500)
      await expectProblem(await send(writeReading(at.consentService, 'autenticacao', own)), 500)
      faults.add({ kind: 'status', service: 'consentService', status: 500 })
      for (const [operation, request] of operations(at.consentService, own, id))
        expect((await send(request)).status, operation).toBe(500)
    })

    test('a fault of 403 spares the operations that have none in the contract', async () => {
      const { at, send, consentService, faults } = await open()
      const id = consentService.addConsent({ cpf: own })
      faults.add({ kind: 'status', service: 'consentService', status: 403 })
      const statuses: number[] = []
      for (const [, request] of operations(at.consentService, own, id)) statuses.push((await send(request)).status)
      expect(statuses.filter(status => status === 403)).toHaveLength(5)
      expect(statuses.slice(5).every(status => status !== 403)).toBe(true)
    })

    test('400 and 401 are declined by the client in each of the seven operations, with the problem', async () => {
      const { at, send, sendWithoutCertificate } = await open()
      for (const [operation] of operations(at.consentService, own, noRecord)) {
        const unknown = await perform(sendWithoutCertificate, at.consentService, operation)
        expect(unknown, operation).toMatchObject({
          status: 'declined',
          fact: {
            data: { httpStatus: 401 },
            parts: { problem: { value: { status: 401, title: 'Chamador não autenticado' } } },
          },
        })
        const malformed = await perform(send, at.consentService, operation, '25774435017')
        expect(malformed, operation).toMatchObject({
          status: 'declined',
          fact: { data: { httpStatus: 400 }, parts: { problem: { value: { status: 400 } } } },
        })
      }
    })

    test('an id has 32 hexadecimal digits, and each is different', async () => {
      const { consentService } = await open()
      const ids = Array.from({ length: 20 }, (_, i) =>
        i % 2 ? consentService.addConsent({ cpf: own }) : consentService.addAwareness({ cpf: own }),
      )
      for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/)
      expect(new Set(ids).size).toBe(20)
    })
  })
}

const titular = { cpf: own, nome: expect.any(String), email: expect.any(String) }
/** The members that purposes, categories and their items have in common. */
const labelled = { identificador: expect.any(String), descricao: expect.any(String), rotulo: expect.any(String) }
const metadados = [
  { ...labelled, sensivel: false },
  { ...labelled, sensivel: true },
]
const controller = {
  cnpj,
  nome: expect.any(String),
  email: expect.any(String),
  contato: expect.any(String),
  responsavel: { cpf: expect.any(String), cnpj: expect.any(String), tipo: expect.any(String) },
}

/** Performs an operation as the engine does, for a missing record. */
function perform(fetch: Fetch, consentUrl: string, operation: string, of = own) {
  const parts = { cpf: of, id: noRecord, record: { id: noRecord } }
  return performOnce(createPerformers(fetch, { consentUrl }), `consentService.${operation}`, { parts })
}
