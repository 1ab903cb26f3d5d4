/** Reads an answer to its end, which says that the work is done, and keeps nothing of it, however long it is. */
export async function drain({ body }: Response): Promise<void> {
  await body?.pipeTo(new WritableStream())
}
