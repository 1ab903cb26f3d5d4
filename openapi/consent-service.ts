import * as wire from '../src/adapters/consent/wire.ts'
import { aboutMarks, type Document, type Operation, type Parameter, type Response, type Schema } from './document.ts'
import { listOf, ref, toSchemas } from './schemas.ts'

/** Document 1: the seven operations of the consent service. */

const text = { type: 'string' }

const cpf: Parameter = {
  name: 'cpf',
  in: 'path',
  required: true,
  description: 'The CPF of the data subject.',
  schema: text,
  'x-averba-policy': 'The form: eleven digits with correct check digits; anything else is answered 400.',
}

const id: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The identifier of the record.',
  schema: text,
}

const status: Parameter = {
  name: 'status',
  in: 'path',
  required: true,
  description: 'The new status.',
  schema: { type: 'string', enum: ['ATIVO', 'REVOGADO', 'NEGADO'] },
}

const cnpj: Parameter = {
  name: 'cnpj',
  in: 'query',
  description: 'Only the records of the controller with this CNPJ; without it, those of all controllers.',
  schema: text,
}

const redirectUrl: Parameter = {
  name: 'redirectUrl',
  in: 'query',
  description: 'The address to return to after the login.',
  schema: text,
}

function problem(description: string, policy?: string): Response {
  return {
    description,
    ...(policy !== undefined && { 'x-averba-policy': policy }),
    content: {
      'application/problem+json': {
        schema: ref('ProblemaDetalhado'),
        'x-averba-policy': 'The media type, which is that of RFC 9457: the contract names none.',
      },
    },
  }
}

const errors = {
  '400': problem('The request is malformed.'),
  '401': problem('The caller is not authenticated.'),
  '500': problem('An internal error of the service.'),
}
const notAuthorized = { '403': problem('The caller is not authorized.') }
const missing = {
  '404': problem('The data subject has no record with this id.', 'The status: the contract shows none.'),
}

function answered(description: string, schema: Schema): Record<'200', Response> {
  return { '200': { description, content: { 'application/json': { schema } } } }
}

const changeStatus: Operation = {
  operationId: 'changeStatus',
  summary: 'Change the status of a consent',
  description:
    'A pending consent becomes active or denied, and an active one revoked. The result of other moves is not shown.',
  tags: ['consentimentos'],
  parameters: [cpf, id, status],
  responses: {
    ...answered('The summary of the consent, after the change.', ref('ConsentimentoResumido')),
    ...errors,
    ...notAuthorized,
    ...missing,
    '409': problem(
      'The table of moves does not have this move.',
      'The status, under the setting `conflict` of the policy `moveOutsideTable`; the default is 400.',
    ),
  },
}

const listConsents: Operation = {
  operationId: 'listConsents',
  summary: 'List the consents of a data subject',
  description: 'All consents that controllers requested from this data subject, in summary.',
  tags: ['consentimentos'],
  parameters: [cpf, cnpj],
  responses: {
    ...answered('The consents.', listOf('ConsentimentoResumido')),
    ...errors,
    ...notAuthorized,
  },
}

const readConsent: Operation = {
  operationId: 'readConsent',
  summary: 'Read a consent',
  description: 'One consent in full, with the history of its status.',
  tags: ['consentimentos'],
  parameters: [cpf, id],
  responses: {
    ...answered('The consent.', ref('ConsentimentoDetalhado')),
    ...errors,
    ...notAuthorized,
    ...missing,
  },
}

const listAwareness: Operation = {
  operationId: 'listAwareness',
  summary: 'List the awareness records of a data subject',
  description: 'All records that this data subject was made aware of processing, in summary.',
  tags: ['ciencias'],
  parameters: [cpf, cnpj],
  responses: { ...answered('The records.', listOf('CienciaResumida')), ...errors, ...notAuthorized },
}

const readAwareness: Operation = {
  operationId: 'readAwareness',
  summary: 'Read an awareness record',
  description: 'One awareness record in full, with the history of the processing and its legal bases.',
  tags: ['ciencias'],
  parameters: [cpf, id],
  responses: {
    ...answered('The record.', ref('CienciaDetalhada')),
    ...errors,
    ...notAuthorized,
    ...missing,
  },
}

const readLogin: Operation = {
  operationId: 'readLogin',
  summary: 'Ask whether a data subject is logged in',
  description: 'The login state, and when the login ends.',
  tags: ['autenticacao'],
  parameters: [cpf],
  responses: { ...answered('The login state.', ref('TitularAutenticadoStatus')), ...errors },
}

const readLoginAddress: Operation = {
  operationId: 'readLoginAddress',
  summary: 'Ask where a data subject can log in',
  description: 'An address of the national login, which leads back to `redirectUrl`.',
  tags: ['autenticacao'],
  parameters: [cpf, redirectUrl],
  responses: { ...answered('The address.', ref('TitularLoginUrl')), ...errors },
}

/** The document of the consent service. */
export const consentService: Document = {
  openapi: '3.1.1',
  info: {
    title: 'Consent service',
    version: '1.0.2',
    description: `Consents that controllers request from data subjects, records of awareness of data processing, and the
login state of a data subject (document 1). The client certificate of the TLS handshake identifies the caller; no
header does. No operation takes a body.

${aboutMarks}`,
  },
  servers: [
    {
      url: '{base_url}/consentimento',
      description: 'The consent service.',
      variables: {
        base_url: {
          default: 'https://consentimento.exemplo.br',
          description: 'The address of the service, which the contract leaves open.',
        },
      },
    },
  ],
  security: [{ mutualTLS: [] }],
  tags: [
    { name: 'consentimentos', description: 'Consents.' },
    { name: 'ciencias', description: 'Awareness records.' },
    { name: 'autenticacao', description: 'Logins of data subjects.' },
  ],
  paths: {
    '/v1/consentimentos/{cpf}/{id}/status/{status}': { put: changeStatus },
    '/v1/consentimentos/{cpf}': { get: listConsents },
    '/v1/consentimentos/{cpf}/{id}': { get: readConsent },
    '/v1/ciencias/{cpf}': { get: listAwareness },
    '/v1/ciencias/{cpf}/{id}': { get: readAwareness },
    '/v1/autenticacao/{cpf}': { get: readLogin },
    '/v1/autenticacao/{cpf}/url': { get: readLoginAddress },
  },
  components: {
    schemas: toSchemas({
      ConsentimentoResumido: [wire.consentimentoResumidoSchema, 'A consent in summary.'],
      ConsentimentoDetalhado: [wire.consentimentoDetalhadoSchema, 'A consent in full.'],
      StatusConsentimento: [wire.statusConsentimentoSchema, 'An entry of the history of a consent.'],
      Categoria: [wire.categoriaSchema, 'The kind of data that a consent is about.'],
      Metadado: [wire.metadadoSchema, 'One item of the data.'],
      Finalidade: [wire.finalidadeSchema, 'What the data is used for.'],
      Titular: [wire.titularSchema, 'The data subject.'],
      UsuarioControlador: [wire.usuarioControladorSchema, 'The controller of the data.'],
      Responsavel: [wire.responsavelSchema, 'The person responsible for data protection at the controller.'],
      CienciaResumida: [wire.cienciaResumidaSchema, 'An awareness record in summary.'],
      CienciaDetalhada: [wire.cienciaDetalhadaSchema, 'An awareness record in full.'],
      StatusTratamento: [wire.statusTratamentoSchema, 'An entry of the history of processing.'],
      Hipotese: [wire.hipoteseSchema, 'A legal basis, with what completes it.'],
      DetalheHipotese: [wire.detalheHipoteseSchema, 'A legal basis.'],
      TitularAutenticadoStatus: [wire.titularAutenticadoStatusSchema, 'A login state.'],
      TitularLoginUrl: [wire.titularLoginUrlSchema, 'Where to log in.'],
      ProblemaDetalhado: [wire.problemaDetalhadoSchema, 'An error, as RFC 9457 describes problems.'],
    }),
    securitySchemes: {
      mutualTLS: {
        type: 'mutualTLS',
        description: 'The certificate names the client. Which certificates are accepted is not shown.',
      },
    },
  },
}
