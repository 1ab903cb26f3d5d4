import { afterAll, expect, test, vi } from 'vitest'
import { writeRequestToken } from '../../../src/adapters/token/protocol.ts'
import { hostToken } from '../../../src/api/validations/tokens.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { type Fault, type FaultKind, startServices } from '../../../src/simulation/index.ts'
import { all, type Expected, inDoubt, kinds, openThreeCalls } from '../../adapters/three-calls.ts'

interface Row extends Expected {
  readonly fault?: Partial<Fault>
  readonly reason?: string
  /** The client's whole budget: real time, since the sockets are real. */
  readonly budgetMs?: number
}

/** The outcomes of the clients for every fault over real TLS. In process only `refuse` differs. */
const table: Record<FaultKind, Row> = {
  // The connection is already open when the request arrives, so it is closed.
  refuse: inDoubt,
  expiredCertificate: { ...all('deferred'), reason: "the service's certificate has expired" },
  unknownCertificate: { ...all('deferred'), reason: "the service's certificate is not trusted" },
  reset: inDoubt,
  lose: inDoubt,
  delay: { ...all('settled'), fault: { ms: 1 } },
  trickle: { ...inDoubt, reason: 'no answer in time', budgetMs: 3_000 },
  status: inDoubt,
  gateway: { change: 'deferred', read: 'deferred', paid: 'unknown', reason: 'CERTIFICATE_REFUSED: ' },
  html: inDoubt,
  contentType: all('settled'),
  truncate: inDoubt,
  oversize: { ...inDoubt, reason: 'ANSWER_TOO_LARGE: the answer is larger than 4194304 bytes' },
  rejectToken: { ...all('settled'), fault: { times: 1 } },
  duplicate: all('settled'),
  reorder: all('settled'),
  wrongSecret: all('settled'),
  clockSkew: { ...all('settled'), fault: { ms: 7_200_000 } },
}

const clock = { ...systemClock }
const services = await startServices({ clock, policies: { tokenService: { reissue: 'revoke' } } })
afterAll(() => services.close())

/** Requests a new token, which ends the older ones. */
async function newToken(): Promise<string> {
  const { consumerKey, consumerSecret } = services.credentials
  const request = writeRequestToken('https://gateway.exemplo.br/token', consumerKey, consumerSecret)
  return (await (await services.tokenService.fetch(request)).json()).access_token
}

/** Clients with open connections to both services, whose TLS sessions could be resumed. */
async function givenOpenConnections(budgetMs = 10_000) {
  const { consentService, validationService } = services.options
  const { ca, client, samples } = services
  const consent = services.consentService.addConsent({ cpf: samples.cpf })
  const urls = { consentUrl: consentService.baseUrl, validationUrl: validationService.baseUrl }
  const given = { ...urls, service: validationService.service, tokens: hostToken(newToken), consent }
  const { calls } = openThreeCalls(given, { ca, certificate: client, budgetMs })
  for (const call of [calls.read, calls.paid]) expect(await call()).toMatchObject({ status: 'settled' })
  return calls
}

test.each(Object.entries(table))('%s', async (name, { fault, reason, budgetMs, ...expected }) => {
  const calls = await givenOpenConnections(budgetMs)
  // The keys of the table are the kinds.
  await services.faults.add({ kind: name as FaultKind, ...fault })
  const outcomes = await Promise.all(kinds.map(kind => calls[kind]()))
  services.faults.clear()
  expect(Object.fromEntries(kinds.map((kind, i) => [kind, outcomes[i]?.status]))).toEqual(expected)
  if (reason !== undefined) for (const outcome of outcomes) expect(outcome.reason).toContain(reason)
  // After the faults end, the same client succeeds.
  for (const call of [calls.read, calls.paid]) expect(await call()).toMatchObject({ status: 'settled' })
})

test('only the named service presents a bad certificate, as often as the fault says', async () => {
  const calls = await givenOpenConnections()
  await services.faults.add({ kind: 'expiredCertificate', service: 'validationService', times: 3 })
  expect((await calls.read()).status).toBe('settled')
  // An unsent call is tried three times.
  expect((await calls.paid()).status).toBe('deferred')
  expect((await calls.paid()).status).toBe('settled')
})

test('an answer under way finishes although a bad certificate is presented meanwhile', async () => {
  const calls = await givenOpenConnections()
  const [delay, sleep] = [Promise.withResolvers<void>(), vi.spyOn(clock, 'sleep')]
  sleep.mockReturnValueOnce(delay.promise)
  await services.faults.add({ kind: 'delay', ms: 1, times: 1 })
  const reading = calls.read()
  await expect.poll(() => sleep).toHaveBeenCalled()
  await services.faults.add({ kind: 'unknownCertificate' })
  expect((await calls.read()).status).toBe('deferred')
  delay.resolve()
  expect((await reading).status).toBe('settled')
  services.faults.clear()
})
