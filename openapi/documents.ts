import { consentService } from './consent-service.ts'
import type { Document } from './document.ts'
import { tokenAndValidation } from './token-and-validation.ts'
import { webhookPortal } from './webhook-portal.ts'

/** The documents, by the name of their file in docs/openapi. */
export const documents: Readonly<Record<string, Document>> = {
  'consent-service.json': consentService,
  'token-and-validation.json': tokenAndValidation,
  'webhook-portal.json': webhookPortal,
}

/** Writes a document as the text of its file. */
export function writeDocument(document: Document): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
