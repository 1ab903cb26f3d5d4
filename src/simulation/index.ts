/** The simulated services: over real TLS on loopback, or in process under a virtual clock. */
export type { Fault, FaultKind } from '../adapters/fault.ts'
export type { Policies } from '../adapters/policies.ts'
export {
  type Answer,
  answerOf,
  decides,
  type GivenEvent,
  type MachineCase,
  type MachineName,
} from './decides.ts'
export { ExpectationError, type Expected } from './expectation.ts'
export { type Ending, type Played, type Scenario, scenario } from './scenario.ts'
export { seededEntropy } from './seeded-entropy.ts'
export { type Simulators, samples } from './services.ts'
export { ShiftedClock } from './shifted-clock.ts'
export { type ShownEvent, shows, type ViewCase } from './shows.ts'
export { simulate, type World, type WorldOptions } from './simulate.ts'
export type { CrashPoint } from './simulated-process.ts'
export { type RunningControl, startControl } from './start-control.ts'
export { type RunningServices, type ServicesOptions, startServices } from './start-services.ts'
export { type RunLimit, VirtualClock } from './virtual-clock.ts'
