/** The proof in a page: events with their paths, and a signed checkpoint over all of them. */
export interface PageProof {
  /** The verifier key line of the log (C2SP). */
  readonly key: string
  /** A signed checkpoint (C2SP tlog-checkpoint). */
  readonly checkpoint: string
  readonly events: readonly {
    readonly header: string
    readonly index: number
    readonly path: readonly string[]
  }[]
}

/** The result of checking the proof of a page. */
export interface PageCheck {
  /** How many events lead to the root of the checkpoint. */
  readonly included: number
  /** The faults, with the position of the event, or 0 for the checkpoint. */
  readonly faults: readonly { readonly position: number; readonly what: PageFault }[]
  /** `unsupported`: this browser cannot verify Ed25519. */
  readonly signature: 'right' | 'wrong' | 'unsupported'
  readonly origin: string
  readonly size: number
}

/** The faults that a proof can have. */
export type PageFault = 'checkpoint' | 'path' | 'position'

/**
 * Checks the proof of a page with WebCrypto alone: the hash of every event from its exact bytes, the path to the root
 * of the checkpoint, and the Ed25519 signature under it.
 *
 * Its source text is put into pages, so it refers to nothing outside itself. It shares no code with what makes the
 * proofs, so that it cannot repeat their mistakes.
 */
export async function checkPageProof(proof: PageProof, subtle: typeof crypto.subtle): Promise<PageCheck> {
  const utf8 = (text: string) => new TextEncoder().encode(text)
  const hexOf = (bytes: Uint8Array) => Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
  const fromHex = (text: string) => Uint8Array.from(text.match(/../g) ?? [], pair => Number.parseInt(pair, 16))
  const fromBase64 = (text: string) => Uint8Array.from(atob(text), char => char.charCodeAt(0))
  const sha256 = async (...pieces: readonly (readonly number[] | Uint8Array)[]) =>
    new Uint8Array(await subtle.digest('SHA-256', Uint8Array.from(pieces.flatMap(piece => [...piece]))))

  /** RFC 9162, section 2.1.3.2: the bits of the index say on which side each sibling is. */
  async function rootFrom(leaf: Uint8Array, index: number, size: number, path: readonly string[]) {
    let [node, last, hash] = [index, size - 1, leaf]
    for (const text of path) {
      if (last === 0) return undefined
      const sibling = fromHex(text)
      if (node % 2 === 1 || node === last) {
        hash = await sha256([1], sibling, hash)
        while (node % 2 === 0 && node !== 0) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
      } else {
        hash = await sha256([1], hash, sibling)
      }
      ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
    }
    return last === 0 ? hash : undefined
  }

  function parseCheckpoint(note: string) {
    const end = note.lastIndexOf('\n\n')
    const text = note.slice(0, end + 1)
    const lines = note
      .slice(end + 2)
      .split('\n')
      .filter(line => line.startsWith('— '))
    const [origin = '', size = '', root = ''] = text.split('\n')
    const signatures = lines.map(line => {
      const [, name = '', base64 = ''] = line.split(' ')
      return { name, bytes: fromBase64(base64) }
    })
    return { text, origin, size: Number(size), root: hexOf(fromBase64(root)), signatures }
  }

  async function verify(checkpoint: ReturnType<typeof parseCheckpoint>): Promise<PageCheck['signature']> {
    const [name = '', id = '', base64 = ''] = /^([^+]+)\+([^+]+)\+(.+)$/.exec(proof.key)?.slice(1) ?? []
    const typed = fromBase64(base64) // The first byte is the type of the key.
    const expectedId = hexOf(await sha256(utf8(`${name}\n`), typed)).slice(0, 8)
    const own = checkpoint.signatures.find(each => each.name === name && hexOf(each.bytes.slice(0, 4)) === id)
    if (!own || expectedId !== id || typed[0] !== 1 || name !== checkpoint.origin) return 'wrong'
    let key: CryptoKey
    try {
      key = await subtle.importKey('raw', typed.slice(1), { name: 'Ed25519' }, false, ['verify'])
    } catch (error) {
      return error instanceof Error && error.name === 'NotSupportedError' ? 'unsupported' : 'wrong'
    }
    const isSigned = await subtle.verify({ name: 'Ed25519' }, key, own.bytes.slice(4), utf8(checkpoint.text))
    return isSigned ? 'right' : 'wrong'
  }

  function positionOf(header: string): unknown {
    try {
      return JSON.parse(header).position
    } catch {
      return undefined
    }
  }

  const failed: PageCheck = {
    ...{ included: 0, signature: 'wrong', origin: '', size: 0 },
    faults: [{ position: 0, what: 'checkpoint' }],
  }
  try {
    const checkpoint = parseCheckpoint(proof.checkpoint)
    if (!Number.isSafeInteger(checkpoint.size) || checkpoint.root.length !== 64) return failed
    const faults: { position: number; what: PageFault }[] = []
    for (const { header, index, path } of proof.events) {
      const leaf = await sha256([0], utf8(header))
      const isInside = index >= 0 && index < checkpoint.size
      const root = isInside ? await rootFrom(leaf, index, checkpoint.size, path) : undefined
      if (!root || hexOf(root) !== checkpoint.root) faults.push({ position: index + 1, what: 'path' })
      else if (positionOf(header) !== index + 1) faults.push({ position: index + 1, what: 'position' })
    }
    const { origin, size } = checkpoint
    const included = proof.events.length - faults.length
    return { included, faults, signature: await verify(checkpoint), origin, size }
  } catch {
    return failed // The checkpoint cannot be parsed.
  }
}
