/**
 * The simulated services: over real TLS on loopback, or in one process under a virtual clock.
 *
 * @packageDocumentation
 */

export {
  answerOf,
  type DecisionAnswer,
  decides,
  type GivenEvent,
  type MachineCase,
  type MachineName,
} from './cases/decides.ts'
export type { ExpectedValue } from './cases/expectation.ts'
export { type Scenario, type ScenarioEnding, type ScenarioResult, scenario } from './cases/scenario.ts'
export { type ShownEvent, shows, type ViewCase } from './cases/shows.ts'
export type { Fault, FaultKind } from './faults/fault.ts'
export { type RunningControl, startControl } from './served/control.ts'
export { ShiftedClock } from './served/shifted-clock.ts'
export {
  type RunningServices,
  type SavedServices,
  type ServicesOptions,
  startServices,
} from './served/start-services.ts'
export { type Simulators, samples } from './services/create-simulators.ts'
export type { Policies } from './services/policies.ts'
export { seededEntropy } from './world/seeded-entropy.ts'
export { simulate, type World, type WorldOptions } from './world/simulate.ts'
export type { CrashPoint } from './world/simulated-process.ts'
export { type RunLimit, VirtualClock } from './world/virtual-clock.ts'
