/** The simulated services: over real TLS on loopback, or in process under a virtual clock. */
export type { Fault, FaultKind } from '../adapters/faults.ts'
export { seededEntropy } from './seeded-entropy.ts'
export { type Simulators, samples } from './services.ts'
export { ShiftedClock } from './shifted-clock.ts'
export { simulate, type World } from './simulate.ts'
export { type RunningControl, startControl } from './start-control.ts'
export { type RunningServices, startServices } from './start-services.ts'
export { VirtualClock } from './virtual-clock.ts'
