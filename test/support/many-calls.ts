import { AverbaError, OutcomeError } from '../../src/index.ts'
import { samples, simulate, type World } from '../../src/simulation/index.ts'
import { dayMs, minuteMs } from './pass-time.ts'
import { applyPlan, deliver } from './portal.ts'

const cpfs = [samples.cpf, '00000000191', '52998224725']
const eventos = ['dimp-situacao-import', 'evento-dois']
const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: 'm'.repeat(40) }

/** Runs a world with many concurrent calls, many faults, and occasional crashes of the engine. */
export async function walkThroughManyCalls(seed: number, days: number): Promise<{ world: World; crashes: number }> {
  let crashes = 0
  let canCrash = false
  const subscriptions = eventos.map(evento => ({ evento }))
  const world = await simulate({
    seed,
    policies: { portal: { tries: 2 } },
    averba: { receiver, schedules: true, subscriptions, actor: { kind: 'system', ref: 'teste' } },
    crashAt: ({ number }) => canCrash && number % 997 === 0,
  })
  for (const cpf of cpfs) {
    world.consentService.addConsent({ cpf, cnpj: samples.cnpj, expiresInMs: 20 * dayMs })
    world.consentService.addConsent({ cpf, cnpj: samples.cnpj, status: 'ATIVO' })
    world.consentService.addAwareness({ cpf, cnpj: samples.cnpj })
  }
  await applyPlan(world.averba)
  for (const kind of ['lose', 'reset', 'truncate'] as const) void world.faults.add({ kind, percent: 6 })
  void world.faults.add({ kind: 'status', status: 503, retryAfterS: 20, percent: 6 })
  void world.faults.add({ kind: 'delay', ms: 1_500, percent: 30 })
  void world.faults.add({ kind: 'rejectToken', percent: 15 })
  for (const kind of ['duplicate', 'wrongSecret', 'reorder', 'lose'] as const)
    void world.faults.add({ kind, service: 'receiver', percent: 15 })
  canCrash = true
  for (let day = 0; day < days; day++) {
    await runDay(world, day)
    if (!world.isDown) continue
    crashes += 1
    await restart(world)
  }
  canCrash = false
  if (world.isDown) await restart(world)
  await world.faults.clear()
  for (let rest = 0; rest < 5; rest++) {
    await world.clock.advance(dayMs)
    await run(world, minuteMs)
  }
  return { world, crashes }
}

async function restart(world: World): Promise<void> {
  await world.restart()
  registerHandlers(world)
}

/** Makes all calls of a day at once. If the engine crashes, its calls never settle. */
async function runDay(world: World, day: number): Promise<void> {
  const { averba, clock } = world
  if (day === 0) registerHandlers(world)
  if (day === 5) clock.jump(-10 * minuteMs)
  const calls = [
    ...cpfs.map(cpf => handleConsents(world, cpf, day)),
    ...cpfs.map((cpf, i) => averba.validations.validate({ id: `v${day}-${i}`, cpf, claims: { sexo: 'F' } })),
    ...Array.from({ length: 6 }, (_, i) => deliver(world, { numero: i % 4, dia: day }, eventos[i % 2])),
    averba.subscriptions.recover(),
    ...(day % 4 === 3 ? [averba.subscriptions.rotate(eventos[0] ?? '').then(() => applyPlan(averba))] : []),
  ]
  const ends = Promise.all(calls.map(call => call.catch(ignoreRefusal)))
  await run(world, 2 * minuteMs)
  if (!world.isDown) await ends
  await clock.advance(dayMs)
}

/** Reads, decides and uses the consents of one person. */
async function handleConsents({ averba }: World, cpf: string, day: number): Promise<void> {
  const subject = await averba.consents.enrol({ cpf }, { syncEveryMs: 2 * dayMs })
  await averba.consents.sync({ subject })
  const consents = await averba.consents.list({ subject })
  const ask = { commandId: `d${day}-${subject}`, reason: 'pedido da pessoa' }
  const pending = consents.find(each => each.status === 'PENDENTE')
  const active = consents.find(each => each.status === 'ATIVO')
  if (pending) await averba.consents[day % 2 === 0 ? 'approve' : 'deny']({ subject, id: pending.id }, ask)
  if (active && day % 3 === 0) await averba.consents.revoke({ subject, id: active.id }, { reason: 'mudei' })
  const basis = { purpose: 'oferta', legalBasis: 'LGPD 7, I' }
  if (active) await averba.consents.use({ subject, id: active.id }, { basis })
  await averba.awareness.list({ subject, ageMaxMs: 0 })
  await averba.logins.state({ subject, ageMaxMs: 0 })
}

/** Registers a handler that fails every third time, and a follower. */
function registerHandlers({ averba }: World): void {
  let calls = 0
  averba.notifications.handle(eventos[0] ?? '', 'despacho', async () => {
    if (++calls % 3 === 0) throw new RangeError('The host was not ready')
  })
  averba.log.follow('contas', ['validation.answered', 'consent.approved'], async () => undefined)
}

async function run({ averba, clock }: World, ms: number): Promise<void> {
  const stop = new AbortController()
  void averba.run({ signal: stop.signal })
  await clock.advance(ms)
  stop.abort()
  await clock.advance(20_000)
}

/** Ignores refusals and unsuccessful outcomes of averba. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof AverbaError || error instanceof OutcomeError)) throw error
}
