/** The simulated services: over real TLS on loopback, or in process under a virtual clock. */
export { seededEntropy } from './seeded-entropy.ts'
export { type Simulators, samples } from './services.ts'
export { simulate, type World } from './simulate.ts'
export { type RunningServices, startServices } from './start-services.ts'
export { VirtualClock } from './virtual-clock.ts'
