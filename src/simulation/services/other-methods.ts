import type { Env, Hono } from 'hono'

/** Answers other methods on an app's paths 405, with `Allow` (RFC 9110, section 15.5.6). Call it after its routes. */
export function refuseOtherMethods<E extends Env>(app: Hono<E>, refuse: () => Response): void {
  const methodsByPath = Map.groupBy(
    app.routes.filter(({ method }) => method !== 'ALL'),
    ({ path }) => path,
  )
  // The first handler that matches answers: a fixed path before one with a parameter.
  const paths = [...methodsByPath].sort(([a], [b]) => Number(a.includes(':')) - Number(b.includes(':')))
  for (const [path, routes] of paths)
    app.all(path, () => {
      const response = refuse()
      response.headers.set('allow', [...new Set(routes.map(({ method }) => method))].join(', '))
      return response
    })
}
