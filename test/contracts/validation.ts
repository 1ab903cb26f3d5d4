import { expect, test } from 'vitest'
import { readProblem } from '../../src/adapters/http/answer-body.ts'
import { writeRequestToken } from '../../src/adapters/token/protocol.ts'
import { tokenResponseSchema } from '../../src/adapters/token/wire.ts'
import { readResult, writeValidatePerson } from '../../src/adapters/validation/protocol.ts'
import { claimsSchema, validationResponseSchema } from '../../src/adapters/validation/wire.ts'
import type { ValidationPolicies } from '../../src/simulation/services/policies.ts'
import type { Json } from '../../src/vocabulary/message.ts'
import { everyClaim } from '../support/every-claim.ts'
import { consumerKey, consumerSecret, cpf, exact, exactText, open, secondMs, service } from './opened-services.ts'

/** Every field that an answer may have, if each claim is true. */
const everyMatch = {
  ...{ nome: true, nome_similaridade: 1, sexo: true, nacionalidade: true, situacao_cpf: true, cpf_disponivel: true },
  filiacao: { nome_mae: true, nome_mae_similaridade: 1, nome_pai: true, nome_pai_similaridade: 1 },
  cnh: {
    ...{ nome: true, nome_similaridade: 1, categoria: true, numero_registro: true, data_primeira_habilitacao: true },
    ...{ data_validade: true, registro_nacional_estrangeiro: true, data_ultima_emissao: true },
  },
  documento: { tipo: true, numero: true, numero_similaridade: 1, orgao_expedidor: true, uf_expedidor: true },
  endereco: {
    ...{ logradouro: true, logradouro_similaridade: 1, numero: true, numero_similaridade: 1 },
    ...{ bairro: true, bairro_similaridade: 1, cep: true, uf: true },
  },
}

const person = '52998224725'
const unknownPerson = '11144477735'

/** The paths of all leaves, in order. */
function leaves(value: object, prefix = ''): string[] {
  return Object.entries(value).flatMap(([name, member]) =>
    typeof member === 'object' ? leaves(member, `${prefix}${name}.`) : [`${prefix}${name}`],
  )
}

async function given(policies: ValidationPolicies = {}) {
  const opened = await open({ validationService: policies })
  const { at, send, validationService } = opened
  validationService.addPerson(person, everyClaim)
  const token = await send(writeRequestToken(at.tokenService, consumerKey, consumerSecret))
  const { access_token } = tokenResponseSchema.parse(await token.json())
  const address = { baseUrl: at.validationService, service }
  const validate = (claims: Json, of = person, bearer = access_token) =>
    send(writeValidatePerson(address, { bearer, cpf: of, claims }))
  const answerTo = (claims: Json, of = person) => exact(validationResponseSchema, validate(claims, of))
  const authorization = `Bearer ${access_token}`
  const documented = { accept: 'application/json', authorization, 'content-type': 'application/json' }
  /** Sends a body, optionally with headers other than documented, or to another path. */
  const post = (body: object, headers: Record<string, string> = {}, path = `${service}/v2/validate/pf`) => {
    const init = { method: 'POST', headers: { ...documented, ...headers }, body: JSON.stringify(body) }
    return send(new Request(`${at.validationService}/${path}`, init))
  }
  return { ...opened, address, validate, answerTo, post, access_token }
}

/** Document 2, section 4.2 and related parts, line by line. */
export function validationContract(): void {
  test('the operation is a POST of JSON to /<demo_service>/v2/validate/pf with a JSON answer', async () => {
    const { at, send, post } = await given()
    const body = { key: { cpf }, answer: everyClaim }
    const answered = await exact(validationResponseSchema, post(body))
    expect(answered).toMatchObject({ sexo: true, cpf_disponivel: true })
    for (const path of [`${service}/v3/validate/pf`, 'outro/v2/validate/pf'])
      expect((await post(body, {}, path)).status).toBe(404)
    const other = await send(new Request(`${at.validationService}/${service}/v2/validate/pf`, { method: 'PUT' }))
    expect([other.status, other.headers.get('allow')]).toEqual([405, 'POST'])
  })

  test('a request may have each of the 26 fields', async () => {
    const { validate, validationService } = await given()
    expect(claimsSchema.parse(everyClaim)).toEqual(everyClaim)
    expect(leaves({ key: { cpf }, answer: everyClaim })).toHaveLength(26)
    expect((await validate(everyClaim)).status).toBe(200)
    expect(validationService.answered).toBe(1)
  })

  test('an answer has every field of the validation response, and no others', async () => {
    const { validate, answerTo } = await given()
    const { body, text } = await exactText(validationResponseSchema, validate(everyClaim))
    expect(body).toEqual(everyMatch)
    // The sample person has every field too.
    expect(leaves(await answerTo(everyClaim, cpf)).sort()).toEqual(leaves(everyMatch).sort())
    const similar = leaves(everyMatch).filter(path => path.endsWith('_similaridade'))
    const result = readResult(text, everyClaim)
    expect(result?.cpfDisponivel).toBe(true)
    for (const path of leaves(everyMatch)) {
      if (path === 'cpf_disponivel' || similar.includes(path)) continue
      const isSimilar = similar.includes(`${path}_similaridade`)
      expect(result?.fields[path], path).toEqual({ result: 'match', ...(isSimilar && { similarity: 1 }) })
    }
  })

  test('a claimed value that does not match is false, with a similarity between 0 and 1', async () => {
    const { answerTo } = await given()
    expect(await answerTo({ nome: 'ANNA DE EXEMPLO', sexo: 'M', endereco: { bairro: 'XYZW' } })).toEqual({
      ...{ nome: false, nome_similaridade: 0.93, sexo: false, cpf_disponivel: true },
      endereco: { bairro: false, bairro_similaridade: 0 },
    })
  })

  test('fields that exist only in the request are not evaluated', async () => {
    const { validate } = await given()
    const claims = {
      data_nascimento: '1980-02-29',
      endereco: { complemento: 'CASA 2', municipio: 'RIO DE JANEIRO' },
      cnh: { codigo_situacao: '3' },
    }
    const text = await (await validate(claims)).text()
    expect(JSON.parse(text)).toEqual({ endereco: {}, cnh: {}, cpf_disponivel: true })
    const notEvaluated = leaves(claims).map(path => [path, { result: 'not-evaluated' }])
    expect(readResult(text, claims)?.fields).toEqual(Object.fromEntries(notEvaluated))
  })

  test('cnh.nome is compared with the claimed nome when a licence is claimed', async () => {
    const { answerTo } = await given()
    const [nome, cnh] = ['ANA DE EXEMPLO', { categoria: 'AB' }]
    expect((await answerTo({ nome, cnh })).cnh).toEqual({ nome: true, nome_similaridade: 1, categoria: true })
    expect((await answerTo({ cnh })).cnh).toEqual({ categoria: true })
    const absent = await given({ licenceName: 'absent' })
    expect((await absent.answerTo({ nome, cnh })).cnh).toEqual({ categoria: true })
  })

  test('neither key nor answer is required, unless the policy requires the key', async () => {
    const { post, validationService } = await given()
    const answerTo = (body: object) => exact(validationResponseSchema, post(body))
    expect(await answerTo({ key: { cpf: person } })).toEqual({ cpf_disponivel: true })
    for (const body of [{}, { key: {} }, { answer: { sexo: 'F' } }])
      expect(await answerTo(body)).toEqual({ cpf_disponivel: false })
    expect(validationService.answered).toBe(4)
    const strict = await given({ required: 'key' })
    expect((await strict.post({ key: {}, answer: {} })).status).toBe(400)
    expect((await strict.post({ key: { cpf: person } })).status).toBe(200)
  })

  test('undocumented headers are accepted, or by policy refused with 406 and 415', async () => {
    const others = [{ accept: '*/*' }, { 'content-type': 'text/plain' }]
    const body = { key: { cpf: person }, answer: { sexo: 'F' } }
    const lenient = await given()
    for (const headers of others) expect((await lenient.post(body, headers)).status).toBe(200)
    const strict = await given({ otherHeaders: 'refuse' })
    const answered = await Promise.all(others.map(headers => strict.post(body, headers)))
    expect(answered.map(response => response.status)).toEqual([406, 415])
    expect(strict.validationService.answered).toBe(0)
    expect((await strict.validate({ sexo: 'F' })).status).toBe(200)
    const several = { accept: 'text/html, application/json;q=0.9, */*;q=0.1' }
    expect((await strict.post(body, several)).status).toBe(200)
    expect((await strict.post(body, { accept: 'text/html, application/json;q=0' })).status).toBe(406)
  })

  test('values match without regard to case, accents and repeated spaces', async () => {
    const { answerTo } = await given()
    expect(await answerTo({ nome: ' Aná  de exemplo', filiacao: { nome_mae: 'Éva de Exemplo' } })).toEqual({
      ...{ nome: true, nome_similaridade: 1, cpf_disponivel: true },
      filiacao: { nome_mae: true, nome_mae_similaridade: 1 },
    })
  })

  test.each([
    ['ANA DE EXEMPLO', 1],
    ['ANA DE EXEMPL', 0.93],
    ['XANA DE EXEMPLO', 0.93],
    ['ANA DO EXEMPLO', 0.93],
    ['ANA', 0.21],
    ['', 0],
  ])('the similarity of ANA DE EXEMPLO and "%s" is %d', async (nome, similarity) => {
    const { answerTo } = await given()
    expect((await answerTo({ nome })).nome_similaridade).toBe(similarity)
  })

  test('an unknown field, a wrong type or a wrong date format is a 400, and is not counted', async () => {
    const { validate, validationService } = await given()
    const wrong: Json[] = [{ apelido: 'Ana' }, { nome: 7 }, { nacionalidade: '1' }, { documento: { tipo: '1' } }, null]
    for (const claims of [...wrong, { data_nascimento: '29/02/1980' }, { cnh: { data_validade: '2031' } }])
      expect((await validate(claims)).status).toBe(400)
    expect(validationService.answered).toBe(0)
  })

  test('a person who is not in the registry is answered with cpf_disponivel false only', async () => {
    const { answerTo } = await given()
    expect(await answerTo(everyClaim, unknownPerson)).toEqual({ cpf_disponivel: false })
    const missing = await given({ unknownPerson: 'notFound' })
    expect((await missing.validate(everyClaim, unknownPerson)).status).toBe(404)
    expect(missing.validationService.answered).toBe(0)
  })

  test.each([
    ['json', 'application/json', /^\s*\{/],
    ['xml', 'application/xml', /^\s*<ams:fault/],
  ] as const)('a gateway error in %s is written and read', async (errors, type, start) => {
    const { validate } = await given({ errors })
    const response = await validate({}, person, 'x')
    expect([response.status, response.headers.get('content-type')]).toEqual([401, type])
    const text = await response.text()
    expect(text).toMatch(start)
    const said = { code: '900901', title: 'Invalid Credentials', detail: 'Expired or invalid token' }
    expect(readProblem(401, text)).toEqual({ status: 401, ...said })
  })

  test('a call without a token, or with an invalid or expired one, is a 401', async () => {
    const { send, address, validate, post, access_token, clock, validationService } = await given()
    const without = writeValidatePerson(address, { bearer: 'x', cpf: person, claims: {} })
    without.headers.delete('authorization')
    const refused = await send(without)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"'])
    expect((await validate({}, person, 'x')).status).toBe(401)
    const otherCase = { authorization: `bEARER ${access_token}` }
    expect((await post({ key: { cpf: person }, answer: {} }, otherCase)).status).toBe(200)
    await clock.advance(3_600 * secondMs - 1)
    expect((await validate({})).status).toBe(200)
    await clock.advance(1)
    expect((await validate({})).status).toBe(401)
    expect(validationService).toMatchObject({ answered: 2, refused: 3 })
  })
}
