import { type ZodType, z } from 'zod'
import type { Schema } from './document.ts'

/** Schemas that get names of their own: what each is, and what in it is ours. */
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
 * Writes wire schemas as named schemas that refer to each other. Objects stay open: that an unknown field is
 * refused, or never sent, stands in no contract.
 */
export function toSchemas(named: Named): Record<string, Schema> {
  const registry = z.registry<{ id: string }>()
  for (const [id, [schema]] of Object.entries(named)) registry.add(schema, { id })
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    uri: id => `#/components/schemas/${id}`,
    override({ jsonSchema }) {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      // How large a number this platform can hold is no one's contract.
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
