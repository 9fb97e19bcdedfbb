"""Secrets and what only looks like them. True ones are put together here, so that no file holds one in full."""

from __future__ import annotations

import base64
import json
import random
import string
import zlib
from collections.abc import Callable, Iterator

__all__ = ["FALSE_CASES", "Maker", "checked", "true_cases"]

LOWER = string.ascii_lowercase
UPPER = string.ascii_uppercase
DIGITS = string.digits
LETTERS = string.ascii_letters
ALNUM = LETTERS + DIGITS
URLSAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"
HEX = DIGITS + "abcdef"
BASE32 = UPPER + "234567"
BASE62 = DIGITS + UPPER + LOWER

CONTEXTS = (
    "{}",
    "export THE_VALUE={}",
    "Hi all, I get a 401 with `{}` since this morning.",
    '{{"value": "{}", "other": 1}}',
    "curl https://api.corp.io/v1/items?q=1 --header 'X-Key: {}' -v",
    "<pre>key = {}</pre>",
    "first line\\n{}\\nlast line",
)
"""Where a token stands that needs no name."""


def checked(body: str) -> str:
    """The characters followed by their CRC-32 in six digits of base 62."""
    number, digits = zlib.crc32(body.encode()), ""
    while number:
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return body + digits.rjust(6, "0")


class Maker:
    """Random strings, the same ones in every run."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def of(self, letters: str, count: int) -> str:
        return "".join(self._random.choices(letters, k=count - 1)) + self._random.choice(
            [letter for letter in letters if letter.isalnum()]
        )

    def password(self) -> str:
        picked = [self._random.choice(kind) for kind in (LOWER, UPPER, DIGITS, "!^~")] + list(self.of(ALNUM, 7))
        return "q" + "".join(picked)

    def checked(self) -> str:
        """30 random characters and their check digits, as in tokens of GitHub and npm."""
        return checked(self.of(ALNUM, 30))

    def jwt(self) -> str:
        parts = ({"alg": "RS256", "kid": self.of(HEX, 8)}, {"sub": self.of(ALNUM, 10), "iat": 1700000000})
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
        return ".".join((*encoded, self.of(URLSAFE, 86)))

    def pem(self, kind: str, newline: str = "\n") -> str:
        lines = [self.of(BASE64, 64) for _ in range(6)]
        return newline.join((f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"))


TOKENS: dict[str, Callable[[Maker], str]] = {
    "GitHub classic": lambda m: "gh" + "p_" + m.checked(),
    "GitHub OAuth": lambda m: "gh" + "o_" + m.checked(),
    "GitHub server": lambda m: "gh" + "s_" + m.checked(),
    "GitHub user": lambda m: "gh" + "u_" + m.of(ALNUM, 36),
    "GitHub fine-grained": lambda m: "github" + "_pat_" + m.of(ALNUM, 22) + "_" + m.of(ALNUM, 59),
    "GitLab": lambda m: "glp" + "at-" + m.of(URLSAFE, 20),
    "GitLab routable": lambda m: "glp" + "at-" + m.of(ALNUM, 27) + ".01." + m.of(DIGITS + LOWER, 9),
    "Slack bot": lambda m: f"xo{'xb'}-{m.of(DIGITS, 12)}-{m.of(DIGITS, 13)}-{m.of(ALNUM, 24)}",
    "Slack user": lambda m: f"xo{'xp'}-{m.of(DIGITS, 12)}-{m.of(DIGITS, 12)}-{m.of(DIGITS, 12)}-{m.of(HEX, 32)}",
    "Slack app": lambda m: f"xa{'pp'}-1-A{m.of(UPPER + DIGITS, 10)}-{m.of(DIGITS, 13)}-{m.of(HEX, 64)}",
    "Slack refresh": lambda m: f"xo{'xe'}-1-{m.of(ALNUM, 140)}",
    "AWS key": lambda m: "AK" + "IA" + m.of(BASE32, 16),
    "AWS temporary key": lambda m: "AS" + "IA" + m.of(BASE32, 16),
    "Google API": lambda m: "AI" + "za" + m.of(URLSAFE, 35),
    "Google OAuth": lambda m: "GOC" + "SPX-" + m.of(URLSAFE, 28),
    "Google access": lambda m: "ya" + "29." + m.of(URLSAFE, 120),
    "OpenAI project": lambda m: "sk-" + "proj-" + m.of(URLSAFE, 74) + "T3Blbk" + "FJ" + m.of(URLSAFE, 74),
    "OpenAI old": lambda m: "sk" + "-" + m.of(ALNUM, 20) + "T3Blbk" + "FJ" + m.of(ALNUM, 20),
    "Anthropic": lambda m: "sk-" + "ant-api03-" + m.of(URLSAFE, 93) + "AA",
    "Stripe": lambda m: "sk" + "_live_" + m.of(ALNUM, 24),
    "Stripe restricted": lambda m: "rk" + "_live_" + m.of(ALNUM, 99),
    "Stripe webhook": lambda m: "wh" + "sec_" + m.of(ALNUM, 32),
    "Twilio": lambda m: "S" + "K" + m.of(HEX, 32),
    "SendGrid": lambda m: "S" + "G." + m.of(URLSAFE, 22) + "." + m.of(URLSAFE, 43),
    "npm": lambda m: "np" + "m_" + m.checked(),
    "PyPI": lambda m: "py" + "pi-AgEIcHlwaS5vcmc" + m.of(URLSAFE, 120),
    "Hugging Face": lambda m: "h" + "f_" + m.of(LETTERS, 34),
    "Telegram": lambda m: m.of("123456789", 10) + ":A" + "A" + m.of(URLSAFE, 33),
    "Docker": lambda m: "dckr" + "_pat_" + m.of(URLSAFE, 27),
    "DigitalOcean": lambda m: "dop" + "_v1_" + m.of(HEX, 64),
    "Databricks": lambda m: "da" + "pi" + m.of(HEX, 32),
    "Shopify": lambda m: "shp" + "at_" + m.of(HEX, 32),
    "Vault": lambda m: "hv" + "s." + m.of(URLSAFE, 90),
    "Terraform": lambda m: m.of(ALNUM, 14) + ".atl" + "asv1." + m.of(URLSAFE, 67),
    "Azure client": lambda m: m.of(ALNUM, 3) + "8Q" + "~" + m.of(ALNUM + "_-", 34),
    "Grafana": lambda m: "gl" + "sa_" + m.of(ALNUM, 32) + "_" + m.of(HEX, 8),
    "Atlassian": lambda m: "ATA" + "TT3xFfGF0" + m.of(URLSAFE, 180),
    "Notion": lambda m: "nt" + "n_" + m.of(ALNUM, 46),
    "Linear": lambda m: "lin" + "_api_" + m.of(ALNUM, 40),
    "Groq": lambda m: "gs" + "k_" + m.of(ALNUM, 52),
    "JWT": lambda m: m.jwt(),
    "RSA private key": lambda m: m.pem("RSA PRIVATE" + " KEY"),
    "private key": lambda m: m.pem("PRIVATE" + " KEY"),
    "OpenSSH private key": lambda m: m.pem("OPENSSH PRIVATE" + " KEY"),
    "EC private key in JSON": lambda m: m.pem("EC PRIVATE" + " KEY", "\\n"),
    "PGP private key": lambda m: m.pem("PGP PRIVATE" + " KEY BLOCK"),
    "Lore": lambda m: "lo" + "re_" + m.of(HEX, 8) + "_" + m.of(URLSAFE, 43),
}
"""Secrets that need no name."""

NAMED: dict[str, tuple[str, Callable[[Maker], str]]] = {
    "AWS secret, file": ("aws_secret_access_key = {}", lambda m: m.of(BASE64, 40)),
    "AWS secret, variable": ("export AWS_SECRET_ACCESS_KEY={}", lambda m: m.of(BASE64, 40)),
    "AWS secret, JSON": ('"SecretAccessKey": "{}"', lambda m: m.of(BASE64, 40)),
    "AWS session token": ("AWS_SESSION_TOKEN={}", lambda m: m.of(BASE64, 300)),
    "client secret": ("client_secret: {}", lambda m: m.of(ALNUM, 32)),
    "API key, YAML": ("    api_key: {}", lambda m: m.of(HEX, 32)),
    "API key, JSON": ('{{"apiKey": "{}"}}', lambda m: m.of(ALNUM, 40)),
    "API key, header": ("X-API-Key: {}", lambda m: m.of(ALNUM, 32)),
    "Cohere": ("COHERE_API_KEY='{}'", lambda m: m.of(ALNUM, 40)),
    "Fernet": ("AIRFLOW__CORE__FERNET_KEY={}", lambda m: m.of(ALNUM, 43) + "="),
    "Flask": ("secret_key = {}", lambda m: m.of(HEX, 60)),
    "token option": ("lore --token {} sync", lambda m: m.of(ALNUM, 40)),
    "token in a URL": ("https://api.corp.io/v1?access_token={}&page=2", lambda m: m.of(ALNUM, 40)),
    "SAS signature": ("https://a.blob.core.windows.net/c/f?sv=2022&sig={}", lambda m: m.of(ALNUM, 43) + "%3D"),
    "AWS signature": ("https://b.s3.amazonaws.com/f?X-Amz-Signature={}", lambda m: m.of(HEX, 64)),
    "bearer": ("Authorization: Bearer {}", lambda m: m.of(URLSAFE, 40)),
    "token header": ("-H 'Authorization: token {}'", lambda m: m.of(HEX, 40)),
    "storage": ("AccountName=corpdata;AccountKey={};EndpointSuffix=x", lambda m: m.of(BASE64, 86) + "=="),
    "service bus": ("SharedAccessKeyName=Root;SharedAccessKey={}", lambda m: m.of(BASE64, 43) + "="),
    "Slack webhook": (
        "https://hooks.slack.com" + "/services/{}",
        lambda m: f"T{m.of(UPPER + DIGITS, 9)}/B{m.of(UPPER + DIGITS, 10)}/{m.of(ALNUM, 24)}",
    ),
    "Discord webhook": (
        "https://discord.com/api" + "/webhooks/123456789012345678/{}",
        lambda m: m.of(URLSAFE, 68),
    ),
    "Discord bot": (
        "DISCORD_TOKEN {}",
        lambda m: ".".join(
            (base64.b64encode(m.of("123456789", 18).encode()).decode(), m.of(URLSAFE, 6), m.of(URLSAFE, 38))
        ),
    ),
    "PostgreSQL": ("postgresql://app:{}@db.corp.io:5432/app", Maker.password),
    "MongoDB": ("mongodb+srv://svc:{}@cluster0.ab1cd.mongodb.net/x", Maker.password),
    "Redis": ("redis://:{}@cache.corp.io:6379/0", Maker.password),
    "AMQP": ("amqp://worker:{}@mq/vhost", Maker.password),
    "git over HTTPS": ("git clone https://build:{}@git.corp.io/team/repo.git", Maker.password),
    "ADO.NET": ("Server=sql1;Database=a;User Id=app;Password={};Encrypt=True", Maker.password),
    "password, YAML": ("password: {}", Maker.password),
    "password, code": ('password="{}",', Maker.password),
    "password, variable": ("export PGPASSWORD='{}'", Maker.password),
    "curl": ("curl -u svc-build:{} https://ci.corp.io/job", Maker.password),
    "basic": (
        "Authorization: Basic {}",
        lambda m: base64.b64encode(f"svc:{m.password()}".encode()).decode(),
    ),
}
"""Secrets that only the words around them tell."""


def true_cases() -> Iterator[tuple[str, str, str]]:
    """Kind, text, and the secret in it, which must not be in the text any more."""
    for number, (kind, make) in enumerate(TOKENS.items()):
        for turn in range(3):
            secret = make(Maker(1000 * number + turn))
            context = CONTEXTS[(number + turn * 3) % len(CONTEXTS)]
            yield kind, context.format(secret), _core(secret)
    for number, (kind, (context, make)) in enumerate(NAMED.items()):
        for turn in range(3):
            secret = make(Maker(500_000 + 1000 * number + turn))
            yield kind, context.format(secret), secret


def _core(secret: str) -> str:
    """What must not be left: of a Telegram token what follows its bot's public number, else all of it."""
    return secret.partition(":")[2] if ":A" + "A" in secret else secret


FALSE_CASES = tuple(
    line
    for line in r"""
ghp_<your token>
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
ghp_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX
export GITHUB_TOKEN=ghp_YOUR_TOKEN_HERE
github_pat_…
The prefix ghp_ marks a personal access token, gho_ one of OAuth.
GITHUB_TOKEN=${{ secrets.GITHUB_TOKEN }}
token: ${GITHUB_TOKEN}
token = os.environ["GITHUB_TOKEN"]
"slack_token": "xoxb-your-token"
SLACK_BOT_TOKEN=xoxb-...
xoxb-123456789012-1234567890123-xxxxxxxxxxxxxxxxxxxxxxxx
SLACK_APP_TOKEN=xapp-1-...
https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX
https://hooks.slack.com/services/<team>/<bot>/<token>
aws_access_key_id = AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
AWS_SECRET_ACCESS_KEY=<your secret access key>
aws_secret_access_key: "{{ conn.aws.password }}"
AKIA and ASIA begin the ids of access keys.
OPENAI_API_KEY=sk-...
OPENAI_API_KEY="sk-proj-..."
openai.api_key = "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
ANTHROPIC_API_KEY=sk-ant-your-key-here
api_key="sk-ant-api03-..."
sk-learn is short for scikit-learn
STRIPE_KEY=sk_live_...
STRIPE_KEY=sk_test_xxxxxxxxxxxxxxxxxxxxxxxx
AIzaSy...
"private_key": "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n"
-----BEGIN RSA PRIVATE KEY----- <your key> -----END RSA PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vbqajDhA5rYxLq8bKd3c user@host
Authorization: Bearer <token>
Authorization: Bearer ${TOKEN}
Authorization: Bearer YOUR_ACCESS_TOKEN
Authorization: Bearer $(gcloud auth print-access-token)
Authorization: Basic dXNlcjpwYXNzd29yZA==
Authorization: Basic YWRtaW46YWRtaW4=
Basic authentication sends the name and the password.
curl -u admin:admin http://localhost:8080/api
curl -u username:password https://host/api
curl --user "$USER:$PASSWORD" https://host/api
docker run -u 1000:1000 image
docker run --user airflow:root image
chown -R user:group /opt
postgresql://airflow:airflow@postgres/airflow
postgresql+psycopg2://airflow:airflow@localhost:5432/airflow
sql_alchemy_conn = mysql://user:password@host/db
postgres://USER:PASSWORD@HOST:5432/DB
postgresql://{user}:{password}@{host}/{db}
postgresql://$USER:$PASSWORD@$HOST/db
mysql://scott:tiger@localhost/test
mongodb://root:example@mongo:27017
redis://:password@redis:6379/0
redis://redis:6379/0
amqp://guest:guest@rabbitmq:5672//
https://username:<password>@host/x
https://user:pa55W0rd@example.com/
https://myuser:mypassword@myhost.com/
http://login:*****@proxy:3128
https://host:8080/path@v1
https://github.com/apache/airflow@main
file:///C:/Users/x
AIRFLOW_CONN_MY_PROD_DB=my-conn-type://my-login:my-password@my-host:5432/my-schema
password: password
password: changeme
password: <password>
password: ********
password: "{{ .Values.password }}"
password: str | None = None
password = getpass.getpass()
password = config["password"]
password = Variable.get("db_password")
password: SecretStr = Field(...)
PASSWORD=${DB_PASSWORD:-airflow}
POSTGRES_PASSWORD: airflow
The password: it must have eight characters.
Password: Required. The password of the user.
passwords are hashed with bcrypt
Server=myServerAddress;Database=myDataBase;User Id=myUsername;Password=myPassword;
secret: my-secret
secretName: airflow-webserver-secret-key
secret_name = "projects/my-project/secrets/my-secret/versions/1"
backend = airflow.providers.hashicorp.secrets.vault.VaultBackend
secrets.backend = airflow.providers.google.cloud.secrets.secret_manager.CloudSecretManagerBackend
AIRFLOW__SECRETS__BACKEND=airflow.providers.microsoft.azure.secrets.key_vault.AzureKeyVaultBackend
arn:aws:secretsmanager:us-east-1:123456789012:secret:my-secret-AbCdEf
token = request.headers.get("Authorization").split()[1]
token: str
token = tokenizer.convert_ids_to_tokens(ids)
max_tokens=4096
"next_page_token": "CiAKGjBpNDd2Nmp2Zml2cXRwYjBpOXA4ZzE2"
nextToken: eyJOZXh0VG9rZW4iOiBudWxsLCAiYm90b190cnVuY2F0ZV9hbW91bnQiOiAxfQ
csrf_token = 8f14e45fceea167a5a36dedd4bea2543
The token bucket refills 10 times a second.
tokens: 12,345 in, 678 out
token_url: https://auth.corp.io/realms/airflow-2024/protocol/openid-connect/token
access_key = "my_access_key"
api_key: vault/secret/a1b2c3d4e5f6/value
api_key: YOUR_API_KEY
api_key = "your-api-key-goes-here"
x-api-key: 00000000-0000-0000-0000-000000000000
"api_key": "0123456789abcdef0123456789abcdef"
fernet_key = your_fernet_key
AIRFLOW__CORE__FERNET_KEY=$(python -c "print(1)")
primary_key=True
sort_key: created_at
public_key: MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEevZzL1gdAFr88hb2OF2N
sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
commit 6c64cfde02b20949013cccf800ba06e168932dc6
image: apache/airflow@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
dag_run_id: 123e4567-e89b-12d3-a456-426614174000
ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
integrity sha512-oAOiF0NSqfRnm2bUSFPwN6ScTpTA6VHqh1bBZlFJo1Ug+bCpZ6E1kQ==
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0.SflKxwRJSMeKKF2QT4
A JWT begins with eyJ, which is {" in base64.
dapi is the prefix of tokens of Databricks
hf_hub_download(repo_id="bert-base")
from hf_transfer import download_in_parallel_with_retries_and_checks
npm_config_registry=https://registry.corp.io
npm_lifecycle_event_of_a_package_script_that_is_run
pypi-upload-with-trusted-publishing
SG.logger.info("x")
key-value-store-with-a-long-name-2024
https://example.blob.core.windows.net/c/f?sig=<signature>
DefaultEndpointsProtocol=https;AccountName=myaccount;AccountKey=<account-key>
AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==
The signature=inspect.signature(function) of a callable
credentials = service_account.Credentials.from_service_account_file("key.json")
credential=DefaultAzureCredential()
client_secret = "{{ var.value.client_secret }}"
"client_secret": "<client secret>"
auth_key: None
kubectl create secret generic airflow-git-ssh-secret-2024
helm upgrade --set webserverSecretKeySecretName=my-webserver-secret
--password PASSWORD
lore --token TOKEN
1:AAPL and 2:AABB are pairs
[redacted: GitHub token]
password: [redacted: password]
""".splitlines()
    if line
)
"""Texts that must stay as they are."""
