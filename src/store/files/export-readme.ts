/** Returns the README of a bundle: how to verify it with Python and openssl only. */
export function exportReadme({ origin, size }: { origin: string; size: number }): string {
  return `# A log of averba, exported

This folder holds the first ${size} events of the log ${origin}, and everything needed to verify them:

- \`checkpoint\`: the number of events, and the root of the Merkle tree over them (RFC 6962); signed with
  Ed25519 as a note of C2SP (c2sp.org/signed-note, c2sp.org/tlog-checkpoint).
- \`key\`: the verifier key of that signature. Compare it with a key that you got in another way: whoever wrote this
  folder could also write this file. A log that continued after a restore has a line for each of its names.
- \`leaves.ndjson\`: line n is, byte for byte, leaf n of the tree: the clear header of event n, as JSON.
- \`parts.ndjson\`: the encrypted personal data of the events, in base64, in the order of the events. The header of each
  event lists its parts with their length and SHA-256. They can be decrypted only with the log's keyring.
- \`checkpoints.ndjson\`: every earlier checkpoint, with the signature of a witness or the time stamp of an authority
  (\`anchor\`, in base64), if there is one.

## With averba

    averba verify .                        the folder by itself
    averba verify . --key <line>           with a verifier key that you got in another way
    averba verify . --mark <file>          as a continuation of a checkpoint that you kept

This also checks every decision against the tables in the log, which the steps below do not.

## With Python and openssl

1. The note: the signed text of \`checkpoint\` ends with the newline before the empty line. The signature line is a
   dash, the name of the key, and base64 of four bytes that identify the key and 64 bytes of signature. In \`key\`, the
   text after the second + is base64 of the byte 1 and the 32 bytes of the public key.
2. The leaves: the hash of a leaf is SHA-256 of a zero byte and its line without the newline; that of a node is SHA-256
   of a byte 1, the left and the right hash. The tree is split at the largest power of two below its size. Its root, in
   base64, is the third line of the checkpoint, and the number of lines the second.
3. The events: \`position\` is the number of the line, and \`version\` counts the events of each \`stream\` from 1.
4. The parts: each part in a header is present with that length and SHA-256, or a later event explains why it is
   missing. \`subject.erased\` explains all earlier parts owned by its stream, except those in \`kept\`;
   \`retention.applied\` explains each part that it lists. Events write a part as position/name.

Save this as verify.py beside these files, and run it with python3 in this folder:

\`\`\`python
${verifyScript}\`\`\`
`
}

const verifyScript = String.raw`import base64, hashlib, json, os, subprocess, sys, tempfile

def sha256(data):
    return hashlib.sha256(data).digest()

def fail(what):
    print("BROKEN: " + what)
    sys.exit(2)

with open("checkpoint", "rb") as file:
    text, _, signatures = file.read().rpartition(b"\n\n")
text += b"\n"
origin, size, root = text.decode().split("\n")[:3]

# 1. The note
keys = {}
for line in open("key", encoding="utf-8").read().splitlines():
    name, key_id, key = line.split("+", 2)
    raw = base64.b64decode(key, validate=True)
    if raw[0] != 1 or sha256(name.encode() + b"\n" + raw)[:4].hex() != key_id:
        fail("the id in the key line does not match its key")
    keys[(name, key_id)] = raw[1:]
signed = False
for line in signatures.decode().splitlines():
    _, name, blob = line.split(" ")
    blob = base64.b64decode(blob, validate=True)
    key = keys.get((name, blob[:4].hex()))
    if key is None or name != origin:
        continue
    with tempfile.TemporaryDirectory() as folder:
        paths = {each: os.path.join(folder, each) for each in ("key", "text", "signature")}
        spki = bytes.fromhex("302a300506032b6570032100") + key
        pem = b"-----BEGIN PUBLIC KEY-----\n" + base64.b64encode(spki) + b"\n-----END PUBLIC KEY-----\n"
        for each, data in (("key", pem), ("text", text), ("signature", blob[4:])):
            with open(paths[each], "wb") as file:
                file.write(data)
        done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", paths["key"], "-rawin",
                               "-in", paths["text"], "-sigfile", paths["signature"]], capture_output=True)
    if done.returncode != 0:
        fail("the signature is wrong")
    signed = True
if not signed:
    fail("the checkpoint is not signed with the key")

# 2. The leaves, 3. the events
subtrees, versions, named, erased, destroyed = [], {}, {}, {}, set()
count = 0
with open("leaves.ndjson", "rb") as file:
    for line in file:
        if not line.endswith(b"\n"):
            fail("the last leaf is incomplete")
        leaf = line[:-1]
        hashed, index = sha256(b"\x00" + leaf), count
        while index % 2 == 1:
            hashed, index = sha256(b"\x01" + subtrees.pop() + hashed), index // 2
        subtrees.append(hashed)
        count += 1
        event = json.loads(leaf)
        stream = event["stream"]
        versions[stream] = versions.get(stream, 0) + 1
        if event["position"] != count or event["version"] != versions[stream]:
            fail("event %d has a wrong position or version" % count)
        for part in event.get("parts", []):
            named["%d/%s" % (count, part["name"])] = (count, part)
        if event["type"] == "subject.erased":
            erased.setdefault(stream, []).append((count, set(event["data"].get("kept", []))))
        # An event explains only parts of earlier events.
        if event["type"] == "retention.applied":
            destroyed.update(each for each in event["data"]["parts"] if each in named)
top = b""
for subtree in reversed(subtrees):
    top = sha256(b"\x01" + subtree + top) if top else subtree
if str(count) != size or base64.b64encode(top).decode() != root:
    fail("the leaves do not match the checkpoint")

# 4. The parts
present = 0
with open("parts.ndjson", "rb") as file:
    for line in file:
        part = json.loads(line)
        _, mark = named.pop("%d/%s" % (part["position"], part["name"]), (None, None))
        sealed = base64.b64decode(part["sealed"], validate=True)
        if mark is None or (mark["owner"], mark["bytes"], mark["hash"]) != (
                part["owner"], len(sealed), sha256(sealed).hex()):
            fail("a part at %d does not match its header" % part["position"])
        present += 1
missing = 0
for place, (position, part) in named.items():
    if place in destroyed or any(position < erasure and place not in kept
                                 for erasure, kept in erased.get(part["owner"], [])):
        missing += 1
    else:
        fail("the part %s at %d is missing, and no event says why" % (part["name"], position))
print("self-consistent: %d events, %d parts, %d erased, log %s, root %s" % (
    count, present, missing, origin, root))
`
