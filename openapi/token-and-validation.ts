import { tokenRequestSchema, tokenResponseSchema } from '../src/adapters/token/wire.ts'
import { validationRequestSchema, validationResponseSchema } from '../src/adapters/validation/wire.ts'
import { aboutMarks, type Document, type Operation, type Response, type Schema } from './document.ts'
import { ref, toSchemas } from './schemas.ts'

/** Document 2: the token endpoint, and the validation of a natural person. */

const bodyIsOurs = 'The body: the contract shows none.'
const allIsOurs = 'The status and the body: the contract shows neither.'

const otherHeadersAreOurs =
  'The status and the body, under the setting `refuse` of the policy `otherHeaders`; the default accepts the request.'

function error(description: string, schema: Schema, policy: string): Response {
  return { description, content: { 'application/json': { schema } }, 'x-averba-policy': policy }
}

/** An error of the gateway, as JSON or XML. */
function gatewayError(description: string, schema: Schema, policy: string): Response {
  const content = {
    'application/json': { schema },
    'application/xml': {
      schema: { type: 'string' },
      'x-averba-policy': 'The form, under the setting `xml` of the policy `errors`; the default is JSON.',
    },
  }
  return { description, content, 'x-averba-policy': policy }
}

const requestToken: Operation = {
  operationId: 'requestToken',
  summary: 'Request a token',
  description: `OAuth 2.0 client credentials. A token lives for an hour; it is used until an operation answers 401,
and then another one is requested.`,
  tags: ['token'],
  security: [{ basic: [] }],
  requestBody: {
    required: true,
    content: { 'application/x-www-form-urlencoded': { schema: ref('TokenRequest') } },
  },
  responses: {
    '200': {
      description: 'A token.',
      content: { 'application/json': { schema: ref('TokenResponse') } },
      'x-averba-policy': 'The status: the contract shows the body alone.',
    },
    '400': gatewayError('The grant type is not `client_credentials`.', ref('TokenError'), allIsOurs),
    '401': gatewayError('The key or the secret is wrong.', ref('TokenError'), allIsOurs),
    '415': gatewayError('The request has another Content-Type.', ref('TokenError'), bodyIsOurs),
  },
}

const validatePerson: Operation = {
  operationId: 'validatePerson',
  summary: 'Validate a natural person',
  description: `Compares what is claimed of a person with the registry, field by field. The demonstration answers with
sample data only.`,
  tags: ['validation'],
  security: [{ bearer: [] }],
  parameters: [
    {
      name: 'demo_service',
      in: 'path',
      required: true,
      description: 'The name of the demonstration service.',
      schema: { type: 'string' },
    },
  ],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: ref('ValidationRequest') } },
    'x-averba-policy': `What is refused: an unknown field, a value of another type, and a text of more than 500
characters are answered 400, and under the setting \`key\` of the policy \`required\` a body without \`key.cpf\`. The
contract shows neither required fields nor domains.`,
  },
  responses: {
    '200': {
      description: 'Which of the claims match.',
      content: { 'application/json': { schema: ref('ValidationResponse') } },
      'x-averba-policy': 'The status: the contract shows the body alone.',
    },
    '400': error('The body is not a validation request.', ref('ValidationError'), allIsOurs),
    '401': gatewayError('The token has expired, or is not valid.', ref('GatewayFault'), bodyIsOurs),
    '404': {
      description: 'There is no service with this name, or no person with this CPF.',
      content: {
        'text/plain': { schema: { type: 'string' } },
        'application/json': {
          schema: ref('ValidationError'),
          'x-averba-policy': 'For an unknown person, under the setting `notFound` of the policy `unknownPerson`.',
        },
      },
      'x-averba-policy': allIsOurs,
    },
    '406': error('Another Accept than documented.', ref('ValidationError'), otherHeadersAreOurs),
    '415': error('Another Content-Type than documented.', ref('ValidationError'), otherHeadersAreOurs),
  },
}

const textObject = (...names: string[]): Schema => ({
  type: 'object',
  properties: Object.fromEntries(names.map(name => [name, { type: 'string' }])),
  required: names,
})

/** Our own constraints: the contract shows neither required fields nor lengths. */
const ourConstraints = ['required', 'maxLength']

/** Removes our own constraints from a request schema. */
function withoutConstraints(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema, (key, value) => (ourConstraints.includes(key) ? undefined : value)))
}

const { ValidationRequest = {}, ...schemas } = toSchemas({
  TokenRequest: [tokenRequestSchema, 'The form of a token request.'],
  TokenResponse: [tokenResponseSchema, 'A bearer token.'],
  ValidationRequest: [validationRequestSchema, 'A person, and what is claimed of that person.'],
  ValidationResponse: [
    validationResponseSchema,
    'Whether each claimed value matches, and how alike some texts are: between 0 and 1 in all shown cases.',
  ],
})

/** The document of the token endpoint and of the validation operation. */
export const tokenAndValidation: Document = {
  openapi: '3.1.1',
  info: {
    title: 'Tokens and the validation of persons',
    version: '2.0.0',
    description: `A gateway that issues bearer tokens, and one operation of a demonstration environment that
validates identity data (document 2). The contract gives this description no version: its first number is the one in
the path of the validation.

${aboutMarks}`,
  },
  servers: [
    {
      url: '{base_url}',
      description: 'The validation service.',
      variables: {
        base_url: {
          default: 'https://validacao.exemplo.br',
          description: 'The address of the service, which the contract leaves open.',
        },
      },
    },
  ],
  tags: [
    { name: 'token', description: 'Tokens.' },
    { name: 'validation', description: 'Validations.' },
  ],
  paths: {
    '/token': {
      servers: [
        {
          url: '{auth_url}',
          description: 'The token host.',
          variables: {
            auth_url: {
              default: 'https://gateway.exemplo.br',
              description: 'The address of the host, which the contract leaves open.',
            },
          },
        },
      ],
      post: requestToken,
    },
    '/{demo_service}/v2/validate/pf': { post: validatePerson },
  },
  components: {
    schemas: {
      ...schemas,
      ValidationRequest: withoutConstraints(ValidationRequest),
      TokenError: { description: 'An error of the token endpoint.', ...textObject('error') },
      ValidationError: { description: 'An error of the validation.', ...textObject('code', 'message') },
      GatewayFault: {
        description: 'An error of the gateway.',
        type: 'object',
        properties: {
          fault: {
            type: 'object',
            properties: {
              code: { type: 'integer' },
              message: { type: 'string' },
              description: { type: 'string' },
            },
            required: ['code', 'message', 'description'],
          },
        },
        required: ['fault'],
      },
    },
    securitySchemes: {
      basic: {
        type: 'http',
        scheme: 'basic',
        description: 'The consumer key and the consumer secret, joined by a colon.',
      },
      bearer: { type: 'http', scheme: 'bearer', description: 'A token of the token endpoint.' },
    },
  },
}
