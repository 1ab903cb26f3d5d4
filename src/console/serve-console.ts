import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createAdaptorServer } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { getCookie, setCookie } from 'hono/cookie'
import { secureHeaders } from 'hono/secure-headers'
import { type Averba, AverbaError } from '../index.ts'
import { type Html, html } from '../pages/html.ts'
import { type Language, labelsOf } from '../pages/labels.ts'
import { nameCommands } from '../pages/name-commands.ts'
import { translateMessage } from '../pages/translate-message.ts'
import { getLanguageWords } from '../pages/words.ts'
import { readInstant } from '../vocabulary/brasilia.ts'
import { hasCode } from '../vocabulary/errors.ts'
import { listen } from '../vocabulary/listen.ts'
import { act, showError, titleOf } from './acts.ts'
import { consoleScript, consoleStyle } from './assets.ts'
import { machineNames } from './chart.ts'
import {
  showConsents,
  showEffects,
  showFollowers,
  showNotifications,
  showSubscriptions,
  showValidations,
} from './lists.ts'
import { readLog, showComparison, showLog, showLogRows, showVerification } from './log-pages.ts'
import { namesOf } from './names.ts'
import { showOverview } from './overview-page.ts'
import { type Page, readKnownAt, writePage } from './page.ts'
import { showMachine, showStream } from './stream-page.ts'
import { requireConsent } from './stream-row.ts'
import { type TextName, textsOf } from './texts.ts'

/** What a console shows, and whether it acts. */
export interface ConsoleOptions {
  readonly averba: Averba
  readonly language: Language
  /** Completes the commands in a text by what names the log. */
  readonly commands?: ((text: string) => string) | undefined
  /** In whose name it acts. Without it the console only shows. */
  readonly actor?: string | undefined
  /** The port on loopback; 0 for a free one. */
  readonly port: number
  /** Gets what only a bug throws: no page shows it. */
  readonly onBug: (error: unknown) => void
}

export interface RunningConsole {
  /** Where to open it, with its token. Whoever knows the address may do what the console does. */
  readonly address: string
  close(): Promise<void>
}

const host = '127.0.0.1'
const formBytesMax = 65_536

const cookieName = 'averba-console'

/** How an application is served: at a secret path, to whoever has the token. */
interface Served extends ConsoleOptions {
  /** Such as `/x`: a browser sends a cookie to every port of a name, but only to the path that it is for. */
  readonly base: string
  readonly token: string
}

/** The pages in the menu, in its order. */
const pages: readonly (readonly [path: string, title: TextName, show: (page: Page) => Promise<Html>])[] = [
  ['/', 'overview', showOverview],
  ['/effects', 'effects', showEffects],
  ['/consents', 'consents', showConsents],
  ['/validations', 'validations', showValidations],
  ['/notifications', 'notifications', showNotifications],
  ['/subscriptions', 'subscriptions', showSubscriptions],
  ['/followers', 'followers', showFollowers],
  ['/log', 'log', showLog],
  ['/machines', 'machines', page => showMachine(page)],
  ['/compare', 'compare', showComparison],
  ['/verify', 'verify', showVerification],
]

/**
 * Serves the console on loopback. Nothing is reachable without the token in its address. Pages load nothing elsewhere.
 *
 * @throws {AverbaError} `MISCONFIGURED` when the port is in use
 */
export async function serveConsole(options: ConsoleOptions): Promise<RunningConsole> {
  const token = newSecret()
  const base = `/${newSecret()}`
  const app = createApp({ ...options, base, token })
  const serverOptions = { headersTimeout: 5_000, connectionsCheckingInterval: 1_000 }
  const server = createAdaptorServer({ fetch: app.fetch, hostname: host, serverOptions })
  server.maxConnections = 100
  const hint = 'Give a free port with --port, or leave it out'
  const fail = (code: string, cause: unknown) =>
    new AverbaError('MISCONFIGURED', `Cannot listen on ${host}:${options.port} (${code})`, { cause, hint })
  const port = await listen(server, { port: options.port, host }, fail)
  return {
    address: `http://${host}:${port}${base}/?token=${token}`,
    close: () =>
      new Promise(done => {
        server.close(() => done())
        // A browser keeps a connection open that it has not used.
        if ('closeAllConnections' in server) server.closeAllConnections()
      }),
  }
}

const newSecret = () => randomBytes(24).toString('base64url')

/** The console as an application: every request is checked before anything is shown. */
export function createApp(options: Served): Hono {
  const { base, token } = options
  const app = new Hono()
  app.use(
    secureHeaders({
      contentSecurityPolicy: {
        ...{ defaultSrc: ["'none'"], styleSrc: ["'self'"], scriptSrc: ["'self'"], connectSrc: ["'self'"] },
        ...{ imgSrc: ['data:'], formAction: ["'self'"], frameAncestors: ["'none'"], baseUri: ["'none'"] },
      },
      strictTransportSecurity: false,
      xFrameOptions: 'DENY',
      // Without a referrer a browser names no origin either, by which its forms are known.
      referrerPolicy: 'same-origin',
    }),
  )
  app.use(async (c, next) => {
    // A page of another site whose name leads to this machine sends that name.
    const { hostname, searchParams, pathname } = new URL(c.req.url)
    if (hostname !== host && hostname !== 'localhost') return c.text('Forbidden', 403)
    if (!isSame(`/${pathname.split('/', 2)[1]}`, base)) return c.text('Not Found', 404)
    if (isSame(searchParams.get('token') ?? '', token)) {
      setCookie(c, cookieName, token, { httpOnly: true, sameSite: 'Strict', path: base })
      return c.redirect(pathname)
    }
    if (!isSame(getCookie(c, cookieName) ?? '', token))
      return c.text('Open the address that averba console printed', 403)
    c.header('cache-control', 'no-store')
    return next()
  })
  app.onError((error, c) => {
    const page = pageOf(c, options)
    if (hasCode(error, 'NOT_FOUND')) return c.html(writeMissing(page, page.message(error.message)), 404)
    // Any other error is a bug, and its message may hold personal data.
    const isKnown = error instanceof AverbaError
    if (!isKnown) options.onBug(error)
    const shown = html`<div class="card no">${isKnown ? showError(page, error) : page.texts.bug}</div>`
    return c.html(writePage(page, page.texts.failed, shown), isKnown ? 400 : 500)
  })
  app.notFound(c => {
    const page = pageOf(c, options)
    return c.html(writeMissing(page, page.texts.nothingHere), 404)
  })
  app.get(`${base}/console.css`, c => c.body(consoleStyle, 200, { 'content-type': 'text/css; charset=utf-8' }))
  app.get(`${base}/console.js`, c => c.body(consoleScript, 200, { 'content-type': 'text/javascript; charset=utf-8' }))
  addPages(app, options)
  return app
}

/** What is not there, and where to go on: to the same page now when it shows a past moment. */
function writeMissing(page: Page, sentence: string): string {
  const { base, path, query, texts } = page
  const [to, name] = query.get('known') ? [path, texts.now] : [`${base}/log`, texts.log]
  return writePage(page, texts.missing, html`<p>${sentence}</p><p><a href="${to}">${name}</a></p>`)
}

function addPages(app: Hono, options: Served): void {
  const { base } = options
  const get = (path: string, write: (page: Page, name: string) => Promise<string | undefined>) =>
    app.get(base + path, async c => {
      const text = await write(pageOf(c, options), c.req.param('name') ?? '')
      return text === undefined ? c.notFound() : c.html(text)
    })
  for (const [path, title, show] of pages) get(path, async page => writePage(page, page.texts[title], await show(page)))
  get('/log/rows', async page => showLogRows(page, await readLog(page)).html)
  get('/stream/:name', async (page, stream) => {
    const kind = stream.split('-', 1)[0] ?? ''
    return writePage(page, page.names.kinds[kind] ?? kind, await showStream(page, stream))
  })
  get('/machines/:name', async (page, name) => {
    if ((await machineNames()).includes(name))
      return writePage(page, page.texts.machines, await showMachine(page, name))
    return undefined
  })
  app.get(`${base}/prove`, async c => {
    const { averba, query, language } = pageOf(c, options)
    const consent = await requireConsent(averba, query.get('stream') ?? '')
    const knownAt = readKnownAt(query)
    const question = { consent, at: readInstant(query.get('at') ?? ''), ...(knownAt !== undefined && { knownAt }) }
    const report = await averba.audit.prove(question, { format: 'html', language })
    // A file of its own: it brings the policy that allows its own script.
    return c.body(report, 200, {
      'content-type': 'text/html; charset=utf-8',
      'content-disposition': 'attachment; filename="consent.html"',
    })
  })
  const limit = bodyLimit({ maxSize: formBytesMax, onError: c => c.text('Payload Too Large', 413) })
  app.post(`${base}/act/*`, limit, async c => {
    // Its own path is none to come back to.
    const page = { ...pageOf(c, options), path: `${base}/` }
    const name = new URL(c.req.url).pathname.slice(`${base}/act/`.length)
    const origin = c.req.header('origin')
    if (options.actor === undefined || origin !== new URL(c.req.url).origin) return c.text('Forbidden', 403)
    const title = titleOf(name, page.texts)
    if (title === undefined) return c.notFound()
    // The forms of its pages are sent like this; in another one there may be files.
    if (!c.req.header('content-type')?.startsWith('application/x-www-form-urlencoded'))
      return c.text('Bad Request', 400)
    const form: Record<string, string> = Object.fromEntries(new URLSearchParams(await c.req.text()))
    const shown = html`<p><code>${form.stream ?? form.id ?? form.name ?? form.evento ?? ''}</code></p>${await act(page, name, form, options.actor)}`
    // Where the form was: a browser names only pages of the console itself.
    const referer = c.req.header('referer')
    const back = referer?.startsWith(`${origin}/`) ? referer.slice(origin.length) : page.path
    return c.html(writePage(page, title, html`${shown}<p><a href="${back}">${page.texts.back}</a></p>`))
  })
}

function pageOf(c: Context, { averba, commands = text => text, language: first, actor, base }: Served): Page {
  const { pathname: path, searchParams: query } = new URL(c.req.url)
  const asked = query.get('lang') ?? getCookie(c, 'averba-lang')
  const language = asked === 'en' || asked === 'pt-BR' ? asked : first
  if (query.has('lang')) setCookie(c, 'averba-lang', language, { sameSite: 'Strict', path: '/' })
  query.delete('lang')
  return {
    ...{ averba, commands, language, base, path, query, actor },
    menu: pages.map(([to, title]) => [base + to, title] as const),
    message: english => commands(nameCommands(translateMessage(english, language))),
    texts: textsOf(language),
    names: namesOf(language),
    labels: labelsOf(language),
    words: getLanguageWords(language),
  }
}

/** Compares in constant time: the time of a wrong guess tells nothing. */
function isSame(given: string, token: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(token)]
  return a.length === b.length && timingSafeEqual(a, b)
}
