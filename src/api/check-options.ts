import { z } from 'zod'
import { loadCertificate } from '../adapters/credentials/certificate.ts'
import type { Clock } from '../runtime/clock.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { checkKnownNames } from '../vocabulary/names.ts'
import { listOptions } from './option.ts'
import { type HostOptions, optionsSchema } from './options.ts'

/**
 * Checks the options before anything is opened: missing, misspelt and unusable ones. Throws `MISCONFIGURED`, and as
 * `checkActor` and `checkBasis` do.
 */
export async function checkOptions(options: HostOptions, clock: Clock): Promise<void> {
  checkOptionShape(options)
  // With the host's own fetch, the host presents the certificate.
  const certificate = options.fetch ? undefined : options.consentService?.certificate
  if (typeof certificate === 'object') await loadCertificate(certificate, clock.now())
}

/** The same without reading certificates. Throws as `checkOptions`. */
export function checkOptionShape(options: HostOptions): void {
  const issues = optionsSchema.safeParse(options).error?.issues ?? []
  // A misspelt name explains why the right one is missing.
  for (const issue of issues) if (issue.code === 'unrecognized_keys') refuseNames(issue)
  for (const issue of issues) throw toError(issue)
}

function refuseNames({ keys, path }: z.core.$ZodIssueUnrecognizedKeys): void {
  const [of] = path.map(String)
  const all = listOptions(optionsSchema)
  const known = of === undefined ? all : all.find(each => each.name === of)?.options
  const given = Object.fromEntries(keys.map(name => [name, true]))
  const names = known?.map(each => each.name) ?? []
  checkKnownNames(given, names, { noun: 'option', code: 'MISCONFIGURED', ...(of !== undefined && { of }) })
}

/** No issue holds the value: it may be a secret. */
function toError(issue: z.core.$ZodIssue): AverbaError {
  const { error, hint } = (issue.code === 'custom' && issue.params) || {}
  if (error instanceof AverbaError) return error
  const where = issue.path.length === 0 ? 'the options' : z.core.toDotPath(issue.path)
  return new AverbaError('MISCONFIGURED', `Cannot use ${where}: ${issue.message}`, hint === undefined ? {} : { hint })
}
