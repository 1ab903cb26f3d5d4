/** averba in a NestJS application: a module that opens it, mounts its receiver, runs it, and closes it at the end. */
import 'reflect-metadata'
import { Controller, type DynamicModule, Get, Inject, Module, Param, type Provider } from '@nestjs/common'
import { HttpAdapterHost, NestFactory } from '@nestjs/core'
import { type Averba, type AverbaOptions, openAverba, type SubjectRef, valueOf } from 'averba'
import { startServices } from 'averba/simulation'

/** What other classes inject to use averba. */
const AVERBA = Symbol('averba')

/** Works from the start of the application to its end. */
class AverbaLifecycle {
  readonly #averba: Averba
  readonly #stop = new AbortController()
  #running: Promise<void> | undefined

  constructor(averba: Averba) {
    this.#averba = averba
  }

  // Every provider exists by now, so every handler is registered.
  onApplicationBootstrap(): void {
    this.#running = this.#averba.run({ signal: this.#stop.signal })
  }

  // After the server has answered what was under way.
  async onApplicationShutdown(): Promise<void> {
    this.#stop.abort()
    await this.#running
    await this.#averba.close()
  }
}

class AverbaModule {}

/** Imported once, by the root module: averba can be injected everywhere. */
function provideAverba(options: AverbaOptions): DynamicModule {
  const averba: Provider = {
    provide: AVERBA,
    inject: [HttpAdapterHost],
    async useFactory({ httpAdapter }: HttpAdapterHost) {
      const opened = await openAverba(options)
      // Nest adds its body parsers later: the receiver gets the bytes as they came.
      if (options.receiver) httpAdapter.post(new URL(options.receiver.publicUrl).pathname, opened.receiver.listener)
      return opened
    },
  }
  const lifecycle: Provider = {
    provide: AverbaLifecycle,
    inject: [AVERBA],
    useFactory: (opened: Averba) => new AverbaLifecycle(opened),
  }
  return { module: AverbaModule, global: true, providers: [averba, lifecycle], exports: [AVERBA] }
}

// Yours. Node runs TypeScript without decorators, so they are called; with a compiler, write @Get(), @Inject(AVERBA).
class ConsentsController {
  readonly #averba: Averba

  constructor(averba: Averba) {
    this.#averba = averba
  }

  async list(subject: SubjectRef) {
    valueOf(await this.#averba.consents.sync({ subject }))
    const consents = await this.#averba.consents.list({ subject })
    return consents.map(({ id, status }) => ({ id, status }))
  }
}
Inject(AVERBA)(ConsentsController, undefined, 0)
const { prototype } = ConsentsController
Param('subject')(prototype, 'list', 0)
Get()(prototype, 'list', { value: prototype.list })
Controller('subjects/:subject/consents')(ConsentsController)

const evento = 'dimp-situacao-import'
const inbox: Provider = {
  provide: 'inbox',
  inject: [AVERBA],
  useFactory: ({ notifications }: Averba) =>
    notifications.handle<{ numero: string; situacao: string }>(evento, 'nest', async ({ body }) => {
      console.log(`${body.numero} is ${body.situacao}`)
    }),
}

const services = await startServices() // yours: the options of averba init
const options: AverbaOptions = {
  store: 'nestjs.sqlite',
  ...services.options,
  receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.1/32'] }, // the simulated portal
  subscriptions: [{ evento, chaveSecreta: process.env.HOOK_SECRET ?? 'made up by you' }],
}

class AppModule {}
Module({ imports: [provideAverba(options)], controllers: [ConsentsController], providers: [inbox] })(AppModule)

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
await app.listen(0, '127.0.0.1')
const averba = app.get<Averba>(AVERBA)
const subject = await averba.consents.enrol({ cpf: services.samples.cpf })
console.log(JSON.stringify({ url: await app.getUrl(), subject }))

process.once('SIGTERM', async () => {
  await app.close() // in a program of your own: app.enableShutdownHooks()
  await services.close()
})
