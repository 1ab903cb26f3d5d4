/** Whether Deno runs this process, and not Node. */
export const isDeno = 'Deno' in globalThis

/** The command with which a user of this runtime runs a file. */
export function commandToRun(file: string): string {
  return `${isDeno ? 'deno run -A' : 'node'} "${file}"`
}

/** The command with which a user of this runtime adds a package. */
export function commandToAdd(name: string): string {
  return isDeno ? `deno add npm:${name}` : `npm install ${name}`
}
