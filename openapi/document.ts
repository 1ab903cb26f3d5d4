/** The parts of an OpenAPI 3.1 document that ours use. */

/** Says what in an object is ours and not the contract's: absent where all of it is contract. */
interface Marked {
  readonly 'x-averba-policy'?: string
}

/** A schema of JSON Schema 2020-12. */
export type Schema = { readonly [keyword: string]: unknown }

/** A body of one media type. */
export interface MediaType extends Marked {
  readonly schema: Schema
}

/** What a request carries beside its body. */
export interface Parameter extends Marked {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly description: string
  readonly required?: boolean
  readonly schema: Schema
}

/** What is answered under one status; without `content` there is no body. */
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

/** The methods that the three services know. */
export type Method = 'get' | 'put' | 'post' | 'delete'

/** Where a service is: an address with parts that the contracts leave open. */
export interface Server {
  readonly url: string
  readonly description: string
  readonly variables: Readonly<Record<string, { readonly default: string; readonly description: string }>>
}

/** What a path offers, by method. */
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

/** What every document says about itself, after what it says about its service. */
export const aboutMarks = `What the contract does not show, and averba's simulated service decides, is marked with
\`x-averba-policy\`, which says what is ours: the real service may do otherwise. All that has no such mark is the
contract, in our words. A listed field of an answer is taken to be always there unless the contract calls it optional,
and further fields may come at any time.`
