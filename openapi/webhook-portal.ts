import * as wire from '../src/adapters/portal/wire.ts'
import { aboutMarks, type Document, type Operation, type Parameter, type Response, type Schema } from './document.ts'
import { listOf, ref, toSchemas } from './schemas.ts'

/** Document 3: the five operations of the webhook portal, and its notification. */

const statusIsOurs = 'The status: the contract shows none.'

function answered(description: string, schema?: Schema): Record<'200', Response> {
  const content = schema && { content: { 'application/json': { schema } } }
  return { '200': { description, ...content, 'x-averba-policy': statusIsOurs } }
}

function refused(description: string): Response {
  return {
    description,
    content: { 'application/json': { schema: ref('Recusa') } },
    'x-averba-policy': 'The status and the body: the contract shows neither.',
  }
}

const notAuthenticated = { '401': refused('The caller is not authenticated.') }
const missing = { '404': refused('The user has no active subscription with this id.') }
const invalid = { '422': refused('A field is missing, too long or of another form, or a rule forbids it.') }

function body(name: string, policy?: string): NonNullable<Operation['requestBody']> {
  const mark = policy !== undefined && { 'x-averba-policy': policy }
  return { required: true, content: { 'application/json': { schema: ref(name) } }, ...mark }
}

const id: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The identifier of the subscription: a number of up to ten digits.',
  schema: { type: 'integer', minimum: 0, maximum: 9_999_999_999 },
}

const subscribe: Operation = {
  operationId: 'subscribe',
  summary: 'Subscribe to an event',
  description: 'Links an event to an endpoint, which is a secure URL on port 443.',
  tags: ['assinaturas'],
  requestBody: body('AssinaturaNova'),
  responses: { ...answered('The subscription.', ref('Assinatura')), ...notAuthenticated, ...invalid },
}

const listSubscriptions: Operation = {
  operationId: 'listSubscriptions',
  summary: 'List the subscriptions of the user',
  description: 'Active subscriptions, and on request deleted ones too, with the reason of their deletion.',
  tags: ['assinaturas'],
  parameters: [
    {
      name: 'exibirInativos',
      in: 'query',
      description: 'Whether deleted subscriptions are listed too.',
      schema: { type: 'boolean' },
    },
  ],
  responses: {
    ...answered('The subscriptions.', listOf('AssinaturaListada')),
    '400': refused('`exibirInativos` is neither true nor false.'),
    ...notAuthenticated,
  },
}

const changeSubscription: Operation = {
  operationId: 'changeSubscription',
  summary: 'Change a subscription',
  description: 'The endpoint is a secure URL.',
  tags: ['assinaturas'],
  parameters: [id],
  requestBody: body(
    'AssinaturaMudada',
    'An id that is not that of the path is answered 422, and a key that is left out is cleared, unless policies say otherwise.',
  ),
  responses: {
    ...answered('The subscription, without its keys.', ref('AssinaturaAlterada')),
    ...notAuthenticated,
    ...missing,
    ...invalid,
  },
}

const deleteSubscription: Operation = {
  operationId: 'deleteSubscription',
  summary: 'Delete a subscription',
  description: 'It gets no more notifications. The id is a field of the body as well as of the path.',
  tags: ['assinaturas'],
  parameters: [id],
  requestBody: body(
    'AssinaturaExcluida',
    'An id that is not that of the path is answered 422, unless policies say otherwise.',
  ),
  responses: { ...answered('Deleted. There are no fields.'), ...notAuthenticated, ...missing, ...invalid },
}

const listFailures: Operation = {
  operationId: 'listFailures',
  summary: 'Query failed deliveries',
  description: 'The failure records of one day. They can be queried for thirty days.',
  tags: ['falhas'],
  parameters: [
    {
      name: 'data',
      in: 'query',
      description: 'The day, written ddMMyyyy; the current date when absent.',
      schema: { type: 'string', pattern: '^\\d{8}$' },
      'x-averba-policy': 'The zone of the day, which is that of Brasilia.',
    },
  ],
  responses: { ...answered('The records.', listOf('Falha')), ...notAuthenticated, ...invalid },
}

function header(name: string, description: string, schema: Schema, isRequired = true): Parameter {
  return { name, in: 'header', required: isRequired, description, schema }
}

const notify: Operation = {
  operationId: 'notify',
  summary: 'Notify a subscriber',
  description: `One POST to the endpoint of each subscription for the event. It comes from 161.148.0.0/16, 189.9.0.0/16 or
200.198.192.0/18 over TLS 1.2 or higher, and must be answered within 3500 milliseconds. If the subscription has a
\`chaveAutenticacao\`, the header \`Authorization\` carries it.`,
  tags: ['notificacao'],
  security: [{}, { chaveAutenticacao: [] }],
  parameters: [
    header('destinatario-tipo', 'A natural person, the representatives of a legal person, or a public body.', {
      type: 'string',
      enum: wire.recipientKinds,
    }),
    header('destinatario-id', 'The recipient, in the format of its kind.', { type: 'string' }),
    header('event-type', 'The event.', { type: 'string', maxLength: wire.limits.evento }),
    header(
      'secret',
      'The `chaveSecreta` of the subscription, if it has one.',
      { type: 'string', maxLength: wire.limits.chave },
      false,
    ),
  ],
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: { description: 'Defined for each event, and not shown.' },
        'x-averba-policy': 'The media type: the contract shows none.',
      },
    },
  },
  responses: {
    '2XX': { description: 'Delivered.', 'x-averba-policy': 'What counts as a success: any 2xx.' },
    default: {
      description: 'A delivery error, which becomes a failure record.',
      'x-averba-policy': 'What counts as an error: anything else, redirects included. It is not retried.',
    },
  },
}

const notEmpty = '`evento` and `endpoint` are not empty: the contract only says that they are required.'
const nullWhereAbsent = 'A field without a value is null: the contract does not show how absence is written.'

/** The document of the webhook portal. */
export const webhookPortal: Document = {
  openapi: '3.1.1',
  info: {
    title: 'Webhooks of the foreign-trade portal',
    version: '1.0.0',
    description: `Subscriptions to events of the portal, its notifications, and the record of those that failed
(document 3). The contract shows no version of its own: this number is ours.

A caller is authenticated in the portal. The contract does not show how, and shows no status codes or error bodies.
The portal deletes a subscription that has only delivery errors for thirty days.

${aboutMarks}`,
  },
  servers: [
    {
      url: 'https://{url}',
      description: 'The portal.',
      variables: {
        url: {
          default: 'portal.exemplo.br',
          description: 'The host of the portal, which the contract leaves open.',
        },
      },
    },
  ],
  security: [{ portal: [] }],
  tags: [
    { name: 'assinaturas', description: 'Subscriptions.' },
    { name: 'falhas', description: 'Failed deliveries.' },
    { name: 'notificacao', description: 'The notifications that the portal sends.' },
  ],
  paths: {
    '/portal/api/ext/webhook': { post: subscribe, get: listSubscriptions },
    '/portal/api/ext/webhook/falhas': { get: listFailures },
    '/portal/api/ext/webhook/{id}': { put: changeSubscription, delete: deleteSubscription },
  },
  webhooks: { notificacao: { post: notify } },
  components: {
    schemas: {
      ...toSchemas({
        AssinaturaNova: [wire.subscribeRequestSchema, 'The request to create a subscription.', notEmpty],
        AssinaturaMudada: [wire.changeRequestSchema, 'The request to change a subscription.', notEmpty],
        AssinaturaExcluida: [wire.deleteRequestSchema, 'The request to delete a subscription.'],
        Assinatura: [wire.assinaturaSchema, 'A subscription.', nullWhereAbsent],
        AssinaturaAlterada: [wire.assinaturaAlteradaSchema, 'A subscription after a change.'],
        AssinaturaListada: [
          wire.assinaturaListadaSchema,
          'A subscription in the list. Its times are written dd-MM-yyyy HH:mm:ss.',
          `${nullWhereAbsent} Times are in Brasilia, which is shown for failure records only.`,
        ],
        Falha: [wire.falhaSchema, 'A failed delivery. Its time is written dd-MM-yyyy HH:mm:ss, in Brasilia.'],
      }),
      Recusa: {
        description: 'An error.',
        'x-averba-policy': 'All of it.',
        type: 'object',
        properties: { code: { type: 'string' }, message: { type: 'string' } },
        required: ['code', 'message'],
      },
    },
    securitySchemes: {
      portal: {
        type: 'apiKey',
        in: 'header',
        name: 'Authorization',
        description: 'A caller is authenticated in the portal. The contract shows neither how nor by what.',
        'x-averba-policy': 'All of it: by default the simulated portal identifies its users by this header.',
      },
      chaveAutenticacao: {
        type: 'apiKey',
        in: 'header',
        name: 'Authorization',
        description: 'The `chaveAutenticacao` that the subscriber gave.',
      },
    },
  },
}
