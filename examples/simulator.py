"""The simulated consent service for a program in another language: mutual TLS, with Python's own library.

    npx averba simulate --json > services.json &
    python3 simulator.py services.json
"""

import json
import ssl
import sys
import urllib.request

with open(sys.argv[1], encoding="utf-8") as file:
    services = json.loads(file.readline())

consent_service, cpf = services["consentService"], services["samples"]["cpf"]
context = ssl.create_default_context(cafile=consent_service["ca"])
context.verify_flags |= ssl.VERIFY_X509_STRICT
context.load_cert_chain(consent_service["cert"], consent_service["key"])

address = f"{consent_service['baseUrl']}/consentimento/v1/consentimentos/{cpf}"
with urllib.request.urlopen(address, context=context) as answer:
    for consent in json.load(answer):
        print(consent["status"])
