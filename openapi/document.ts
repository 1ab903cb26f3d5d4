/** The parts of an OpenAPI 3.1 document that ours use. */

/** Marks which part of an object is our policy. Absent if all of it is the contract's. */
interface Marked {
  readonly 'x-averba-policy'?: string
}

/** A schema of JSON Schema 2020-12. */
export type Schema = { readonly [keyword: string]: unknown }

/** What is given an example, once the contract suite has run. */
interface Exemplified {
  example?: unknown
}

/** A body of one media type. */
export interface MediaType extends Marked, Exemplified {
  readonly schema: Schema
}

/** A parameter of a request. */
export interface Parameter extends Marked, Exemplified {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly description: string
  readonly required?: boolean
  readonly schema: Schema
}

/** The answer with one status. Without `content` there is no body. */
export interface Response extends Marked {
  readonly description: string
  readonly content?: Readonly<Record<string, MediaType>>
}

/** One operation of a service, or one request that the service makes. */
export interface Operation extends Marked {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Marked & {
    readonly required: boolean
    readonly content: Readonly<Record<string, MediaType>>
  }
  readonly responses: Readonly<Record<string, Response>>
}

/** The methods that the three services use. */
export type Method = 'get' | 'put' | 'post' | 'delete'

/** The address of a service, with variables for the parts that the contracts leave open. */
export interface Server {
  readonly url: string
  readonly description: string
  readonly variables: Readonly<Record<string, { readonly default: string; readonly description: string }>>
}

/** The operations of a path, by method. */
export type PathItem = { readonly servers?: readonly Server[] } & {
  readonly [method in Method]?: Operation
}

/** One service, as an OpenAPI document describes it. */
export interface Document {
  readonly openapi: '3.1.1'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly Server[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly security?: Operation['security']
  readonly paths: Readonly<Record<string, PathItem>>
  readonly webhooks?: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, Schema>>
  }
}

/** The last paragraph of every document's description. */
export const aboutMarks = `\`x-averba-policy\` marks what the contract does not show and averba's simulated service
decides: the real service may differ. Everything without this mark is the contract, in our words. We assume that a
listed field of an answer is always present unless the contract calls it optional, and that further fields may be
added at any time.`
