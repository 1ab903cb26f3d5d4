import { CompiledQuery } from 'kysely'
import { rows } from '../../src/store/database/connection.ts'
import { openSqlite } from '../../src/store/database/sqlite.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase } from '../support/use-database.ts'

const path = temporaryStore()
const connection = await openSqlite(path)
const select = () => connection.readOnly(CompiledQuery.raw('select * from t'))
const change = (sql: string) => useDatabase(path, database => database.exec(sql))
change('create table t (a, b); insert into t values (1, 2)')
const seen = [await select()]
change('drop table t; create table t (b, c, a); insert into t values (2, 3, 1)')
seen.push(await select())
const rowsOf = () => rows<unknown>({ sql: 'select * from t', parameters: [] })
const undone = connection.transact(function* () {
  yield* rows({ sql: 'alter table t add column d', parameters: [] })
  yield* rowsOf()
  throw new TypeError('undone')
})
await undone.catch(() => undefined)
seen.push(await connection.read(rowsOf))
await connection.close()
console.log(JSON.stringify(seen))
