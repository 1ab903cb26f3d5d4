import { type ZodType, z } from 'zod'
import type { Schema } from './document.ts'

/** Named schemas, each with its description and what in it is our policy. */
export type Named = Readonly<Record<string, readonly [schema: ZodType, description: string, policy?: string]>>

/** A reference to a named schema. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** A list of a named schema. */
export function listOf(name: string): Schema {
  return { type: 'array', items: ref(name) }
}

/**
 * Converts wire schemas to named schemas that refer to each other. Objects stay open: no contract says that unknown
 * fields are refused or never sent.
 */
export function toSchemas(named: Named): Record<string, Schema> {
  const registry = z.registry<{ id: string }>()
  for (const [id, [schema]] of Object.entries(named)) registry.add(schema, { id })
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    uri: id => `#/components/schemas/${id}`,
    override({ jsonSchema }) {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      // The number limits of JavaScript are not part of a contract.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return Object.fromEntries(
    Object.entries(named).map(([id, [, description, policy]]) => {
      const { $schema, $id, ...rest } = schemas[id] ?? {}
      return [id, { description, ...(policy !== undefined && { 'x-averba-policy': policy }), ...rest }]
    }),
  )
}
