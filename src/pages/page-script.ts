import { checkPageProof, type PageProof } from '../proof/check-page.ts'
import type { Labels } from './labels.ts'

/** The members of a document that the script needs. */
type PageDocument = Pick<Document, 'getElementById' | 'querySelectorAll' | 'createElement'>

/** Checks and shows the proof of its page. Its source is put into pages: it refers to its arguments only. */
async function showPageCheck(
  page: PageDocument,
  subtle: SubtleCrypto | undefined,
  check: typeof checkPageProof,
): Promise<void> {
  const read = (id: string) => JSON.parse(page.getElementById(id)?.textContent ?? 'null')
  const proof: PageProof = read('proof')
  const texts: Labels['script'] = read('texts')
  const box = page.getElementById('check')
  if (!box) return
  const say = (tone: string, title: string, lines: readonly string[]) => {
    box.className = `card ${tone}`
    const heading = page.createElement('strong')
    heading.textContent = title
    const list = page.createElement('ul')
    list.className = 'plain'
    for (const line of lines) {
      const item = page.createElement('li')
      item.textContent = line
      list.append(item)
    }
    box.replaceChildren(heading, list)
  }
  if (!subtle) return say('doubt', texts.noCrypto, [])
  say('doubt', texts.checking, [])
  const { included, faults, signature } = await check(proof, subtle)
  const proven = new Map(proof.events.map(({ header, index }) => [String(index + 1), header]))
  proven.set('key', proof.key).set('checkpoint', proof.checkpoint)
  const pieces = [...page.querySelectorAll<HTMLElement>('pre')]
  const pieceName = (piece: HTMLElement) => piece.dataset.position ?? piece.dataset.shown ?? ''
  const differing = pieces.filter(piece => piece.textContent !== proven.get(pieceName(piece))).map(pieceName)
  // Everything in the proof must also be shown: a missing text could hide a false one.
  const shown = new Set(pieces.map(pieceName))
  for (const name of proven.keys()) if (!shown.has(name)) differing.push(name)
  const signed = { right: texts.signatureRight, wrong: texts.signatureWrong, unsupported: texts.signatureUnsupported }
  const lines = [
    `${included} / ${proof.events.length} ${texts.included}`,
    ...faults.map(({ position, what }) => `${texts.faults[what]}${position === 0 ? '' : ` ${position}`}`),
    signed[signature],
    ...differing.map(name => `${texts.shownWrong} ${name}`),
    ...(differing.length === 0 ? [texts.shownRight] : []),
  ]
  const isEmpty = proof.events.length === 0
  if (isEmpty || faults.length > 0 || differing.length > 0 || signature === 'wrong') say('no', texts.wrong, lines)
  else if (signature === 'unsupported') say('doubt', texts.partly, lines)
  else say('yes', texts.right, lines)
}

/** Writes the script of a page with a proof: the source text of the functions above. */
export function writePageScript(): string {
  return `'use strict';
const checkPageProof = ${checkPageProof};
const showPageCheck = ${showPageCheck};
showPageCheck(document, globalThis.crypto && globalThis.crypto.subtle, checkPageProof);
`
}
