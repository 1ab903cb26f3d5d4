/** An element that the script of a page creates. */
interface Made {
  className: string
  textContent: string
  children: Made[]
  append(child: Made): void
  replaceChildren(...children: Made[]): void
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' }

/** The script of a page, if any. */
export function scriptOf(page: string): string | undefined {
  return /<script>([\s\S]*?)<\/script>/.exec(page)?.[1]
}

/** Runs the script of a page without a browser, on the few elements that it uses, read from the page's text. */
export function openPage(page: string) {
  const textOf = (id: string) => new RegExp(`id="${id}">([\\s\\S]*?)</script>`).exec(page)?.[1] ?? ''
  const box = createElement()
  const shown = [...page.matchAll(/<pre(?: data-(position|shown)="(\w+)")?>([\s\S]*?)<\/pre>/g)].map(
    ([, name, value = '', text = '']) => ({
      dataset: name === undefined ? {} : { [name]: value },
      textContent: text.replace(/&(lt|gt|quot|#39|amp);/g, (_, name) => entities[name] ?? ''),
    }),
  )
  const document = {
    createElement,
    getElementById: (id: string) => (id === 'check' ? box : { textContent: textOf(id) }),
    querySelectorAll: () => shown,
  }
  return {
    textOf,
    /** Returns what the result box of the check shows. */
    async run(subtle: SubtleCrypto | undefined) {
      const script = scriptOf(page)?.replace('\nshowPageCheck(', '\nreturn showPageCheck(') ?? ''
      await new Function('document', 'globalThis', script)(document, { crypto: { subtle } })
      return { className: box.className, text: wordsOf(box) }
    },
  }
}

function createElement(): Made {
  const made: Made = {
    className: '',
    textContent: '',
    children: [],
    append: child => void made.children.push(child),
    replaceChildren(...children) {
      made.children = children
    },
  }
  return made
}

function wordsOf({ textContent, children }: Made): string {
  return [textContent, ...children.map(wordsOf)].join('\n')
}

/** The cryptography of an older browser, which does not know Ed25519. */
export const olderSubtle = {
  digest: (...data: Parameters<SubtleCrypto['digest']>) => globalThis.crypto.subtle.digest(...data),
  importKey: () => Promise.reject(new DOMException('', 'NotSupportedError')),
} as unknown as SubtleCrypto
