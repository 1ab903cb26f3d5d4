import { beganType, logStream, resumedType } from '../../proof/log-stream.ts'
import { rows, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'

/** Every name that the log signs under, with the key line that it names. */
export function* readKeyLines(): Steps<{ origin: string; key: string }[]> {
  const found = yield* rows<{ header: string }>({
    sql: selectNames,
    parameters: [logStream, beganType, resumedType],
  })
  return found.map(({ header }) => {
    const { origin, key } = parseHeader(header).data
    return { origin: String(origin), key: String(key) }
  })
}

const selectNames = `select event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type in (?, ?) order by event.version`
