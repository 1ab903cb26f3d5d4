import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { documents, writeDocument } from './documents.ts'

/** Writes docs/openapi from the wire schemas: `npm run openapi`. */

const folder = resolve(import.meta.dirname, '../docs/openapi')
for (const [name, document] of Object.entries(documents)) {
  writeFileSync(join(folder, name), writeDocument(document))
}
