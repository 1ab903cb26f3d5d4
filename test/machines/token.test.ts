import { expect, test } from 'vitest'
import { tokenMachine } from '../../src/machines/token.ts'
import type { Message } from '../../src/message.ts'
import { decideAfter } from './decide-after.ts'

const request = (need: string, credential = 'k1'): Message => ({
  type: 'token.request',
  data: { need, credential },
})
const issued: Message = { type: 'tokenService.issued', data: { expiresAt: null } }
const reject = (generation: number): Message => ({ type: 'token.reject', data: { generation } })

const after = decideAfter(tokenMachine)

test('a second request is refused while one is out', () => {
  expect(after(request('absent'), request('absent'))).toHaveProperty('refused')
})

test('a token that nobody rejected is not renewed', () => {
  expect(after(request('absent'), issued, request('rejected'))).toHaveProperty('refused')
  expect(after(request('absent'), issued, reject(1), request('rejected'))).toHaveProperty('events')
})

test('a late 401 about an older token says nothing', () => {
  const renewed = [request('absent'), issued, reject(1), request('rejected'), issued]
  expect(after(...renewed, reject(1))).toEqual({ events: [] })
  expect(after(...renewed, reject(2))).toMatchObject({ events: [{ type: 'token.rejected' }] })
})

test('wrong credentials stop the asking until they are changed', () => {
  const refused: Message = { type: 'tokenService.credentialsRefused', data: { httpStatus: 401 } }
  expect(after(request('absent'), refused, request('absent'))).toHaveProperty('refused')
  expect(after(request('absent'), refused, request('absent', 'k2'))).toHaveProperty('events')
})
