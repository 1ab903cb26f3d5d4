import { toInstant } from '../../vocabulary/instant.ts'
import { createControl } from './control.ts'
import { serveControl } from './serve.ts'
import type { ShiftedClock } from './shifted-clock.ts'
import type { RunningServices } from './start-services.ts'

/** The running control server of simulated services. */
export interface RunningControl {
  readonly baseUrl: string
  close(): Promise<void>
}

/** Starts the control server of simulated services: JSON over plain HTTP, on loopback. */
export async function startControl(services: RunningServices, clock: ShiftedClock): Promise<RunningControl> {
  const control = createControl({
    async advance(ms) {
      await clock.advance(ms)
      return toInstant(clock.now())
    },
    addConsent: ({ cpf, cnpj, status, expiresInMs }) =>
      services.consentService.addConsent({
        cpf,
        ...(cnpj !== undefined && { cnpj }),
        ...(status && { status }),
        ...(expiresInMs !== undefined && { expiresInMs }),
      }),
    addAwareness: ({ cpf, cnpj }) => services.consentService.addAwareness({ cpf, ...(cnpj !== undefined && { cnpj }) }),
    addPerson: ({ cpf, ...person }) => services.validationService.addPerson(cpf, person),
    notify: notice => services.portal.notify(notice),
    addFault: fault => services.faults.add(fault),
    endFaults: () => services.faults.clear(),
    connect: ({ host }, to) => services.connect(host, to.port, to.host),
    requests: () => services.requests,
    reset: () => services.reset(),
  })
  const server = await serveControl(control)
  return { baseUrl: `http://127.0.0.1:${server.port}`, close: server.close }
}
