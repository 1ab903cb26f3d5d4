import type { TokenEvent } from '../machines/token.ts'
import type { Instant } from '../vocabulary/message.ts'
import { defineView, integer, type RecordedOf, type RowOf, text } from '../vocabulary/view.ts'

const columns = {
  token: text(),
  state: text<'requesting' | 'valid' | 'rejected' | 'repeated' | 'locked' | 'absent'>(),
  /** How many tokens there have been. */
  generation: integer(),
  requests: integer(),
  expires_at: text<Instant | null>(),
  /** The scopes of the last token, as the gateway named them. */
  scope: text<string | null>(),
  /** No token is requested before this, because the gateway would refuse its use. */
  waits_until: text<Instant | null>(),
  changed_at: text<Instant>(),
}

/** The state of one credential's token, without the token itself. */
export type TokenRow = RowOf<typeof columns>

/** The view of tokens. */
export const tokens = defineView<TokenRow, RecordedOf<TokenEvent>>({
  name: 'tokens',
  version: 1,
  kinds: ['token'],
  columns,
  key: event => event.stream,
  fold(row, event) {
    if (event.type === 'token.unexpected') return row
    const before = row ?? { generation: 0, requests: 0, expires_at: null, scope: null, state: 'absent' }
    const at = { token: event.stream, changed_at: event.at, waits_until: null }
    return { ...before, ...at, ...changedColumns(before.requests, event) }
  },
})

type TokenChange = Exclude<RecordedOf<TokenEvent>, { type: 'token.unexpected' }>

function changedColumns(requests: number, event: TokenChange): Pick<TokenRow, 'state'> & Partial<TokenRow> {
  switch (event.type) {
    case 'token.requested':
      return { state: 'requesting', requests: requests + 1 }
    case 'token.renewed':
      return {
        ...{ state: 'valid', generation: event.data.generation, expires_at: event.data.expiresAt },
        scope: event.data.scope ?? null,
      }
    case 'token.rejected':
      return { state: 'rejected', waits_until: event.data.until ?? null }
    case 'token.repeated':
      return { state: 'repeated', waits_until: event.data.until }
    case 'token.locked':
      return { state: 'locked' }
    case 'token.requestFailed':
      return { state: 'absent' }
  }
}
