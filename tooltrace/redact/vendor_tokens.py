"""The table of tokens that vendors issue with a fixed prefix: the facts from which their patterns are made.

A row says how a vendor's token begins, of which characters the rest consists, and how long the rest is. The documentation
of the vendor is the source; where it is silent about the length, the length of tokens in use.
"""

from __future__ import annotations

from typing import NamedTuple

HEX = "0-9a-fA-F"
ALNUM = "0-9A-Za-z"
UPPER = "0-9A-Z"
URL = r"0-9A-Za-z_\-"
"""The alphabet of base64 for URLs."""
DOTTED = r"0-9A-Za-z_\-.=~"
"""Parts in ``URL``, joined by dots."""
BASE64 = "0-9A-Za-z+/=_"
"""The alphabet of base64, with the underscore that joins parts."""
PERCENT = "0-9A-Za-z%"
"""A token that is also seen with its own characters encoded for URLs."""


class VendorToken(NamedTuple):
    """One form of token of a vendor."""

    vendor: str
    prefixes: tuple[str, ...]
    """How it begins; upper and lower case differ."""
    alphabet: str
    """The characters after the prefix, as inside of ``[…]`` of a regular expression."""
    least: int
    """The least number of them. More of them belong to the token too."""
    source: str
    """The page of the vendor about its tokens, without ``https://``."""


VENDOR_TOKENS = (
    VendorToken("1Password", ("ops_eyJ",), BASE64, 40, "developer.1password.com/docs/service-accounts/security"),
    VendorToken("1Password", ("A3-",), r"0-9A-Z\-", 31, "support.1password.com/secret-key"),
    VendorToken("Adobe", ("p8e-",), URL, 32, "developer.adobe.com/developer-console/docs/guides/authentication"),
    VendorToken("age", ("AGE-SECRET-KEY-1",), UPPER, 40, "age-encryption.org/v1"),
    VendorToken("Airtable", ("pat",), r"0-9A-Za-z.", 79, "airtable.com/developers/web/guides/personal-access-tokens"),
    VendorToken("Alibaba Cloud", ("LTAI",), ALNUM, 12, "www.alibabacloud.com/help/en/ram/user-guide/create-an-accesskey-pair"),
    VendorToken("Amazon", ("AKIA", "ASIA", "AROA", "AIDA", "ABIA", "ACCA"), UPPER, 16, "docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html"),
    VendorToken("Amazon", ("A3T",), UPPER, 17, "docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html"),
    VendorToken("Amazon", ("ABSK",), BASE64, 100, "docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html"),
    VendorToken("Amazon", ("bedrock-api-key-",), BASE64, 20, "docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html"),
    VendorToken("Artifactory", ("AKC", "cmVmd"), ALNUM, 10, "jfrog.com/help/r/jfrog-platform-administration-documentation/access-tokens"),
    VendorToken("Atlassian", ("ATATT3", "ATCTT3", "ATBB"), DOTTED, 20, "support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account"),
    VendorToken("Clojars", ("CLOJARS_",), ALNUM, 40, "github.com/clojars/clojars-web/wiki/Deploy-Tokens"),
    VendorToken("ClickHouse Cloud", ("4b1d",), ALNUM, 38, "clickhouse.com/docs/cloud/manage/openapi"),
    VendorToken("Cloudflare", ("v1.0-",), r"0-9a-f\-", 100, "developers.cloudflare.com/fundamentals/api/get-started/ca-keys"),
    VendorToken("Databricks", ("dapi",), r"0-9a-f\-", 32, "docs.databricks.com/en/dev-tools/auth/pat.html"),
    VendorToken("Defined Networking", ("dnkey-",), URL, 40, "docs.defined.net/guides/automating-host-creation"),
    VendorToken("DigitalOcean", ("dop_v1_", "doo_v1_", "dor_v1_"), HEX, 10, "docs.digitalocean.com/reference/api/create-personal-access-token"),
    VendorToken("Docker", ("dckr_pat_", "dckr_oat_"), URL, 20, "docs.docker.com/security/access-tokens"),
    VendorToken("Doppler", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), r"0-9A-Za-z_.\-", 40, "docs.doppler.com/reference/auth-token-formats"),
    VendorToken("Duffel", ("duffel_test_", "duffel_live_"), URL, 30, "duffel.com/docs/api/overview/test-mode"),
    VendorToken("Dynatrace", ("dt0c01.", "dt0s16.", "dt0s01."), r"0-9A-Za-z.", 60, "docs.dynatrace.com/docs/dynatrace-api/basics/dynatrace-api-authentication"),
    VendorToken("EasyPost", ("EZAK", "EZTK"), ALNUM, 40, "docs.easypost.com/docs/authentication"),
    VendorToken("Facebook", ("EAAM", "EAAC"), ALNUM, 60, "developers.facebook.com/docs/facebook-login/guides/access-tokens"),
    VendorToken("Figma", ("figd_", "figu_"), URL, 30, "www.figma.com/developers/api#access-tokens"),
    VendorToken("Flutterwave", ("FLWSECK_TEST-", "FLWPUBK_TEST-", "FLWSECK-", "FLWPUBK-"), URL, 12, "developer.flutterwave.com/docs/authentication"),
    VendorToken("Fly.io", ("fo1_", "fm1a_", "fm1r_", "fm2_"), r"0-9A-Za-z+/=_,\-", 40, "fly.io/docs/security/tokens"),
    VendorToken("Frame.io", ("fio-u-",), DOTTED, 40, "developer.frame.io/docs/getting-started/authentication"),
    VendorToken("GitHub", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"0-9A-Za-z_.\-", 10, "docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github"),
    VendorToken("GitLab", ("glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-", "glwt-"), r"0-9A-Za-z_.\-", 10, "docs.gitlab.com/security/tokens"),
    VendorToken("GitLab", ("GR1348941",), URL, 20, "docs.gitlab.com/security/tokens"),
    VendorToken("GitLab", ("_gitlab_session=",), ALNUM, 16, "docs.gitlab.com/security/tokens"),
    VendorToken("Google", ("AIza",), URL, 30, "cloud.google.com/docs/authentication/api-keys"),
    VendorToken("Google", ("GOCSPX-", "ya29."), r"0-9A-Za-z_.\-", 10, "developers.google.com/identity/protocols/oauth2"),
    VendorToken("Grafana", ("glc_", "glsa_"), BASE64, 32, "grafana.com/docs/grafana-cloud/account-management/authentication-and-permissions"),
    VendorToken("Groq", ("gsk_",), ALNUM, 40, "console.groq.com/docs/quickstart"),
    VendorToken("Harness", ("pat.", "sat."), r"0-9A-Za-z_.\-", 60, "developer.harness.io/docs/platform/automation/api/add-and-manage-api-keys"),
    VendorToken("HashiCorp", ("hvs.", "hvb.", "hvr."), URL, 24, "developer.hashicorp.com/vault/docs/concepts/tokens"),
    VendorToken("Heroku", ("HRKU-",), URL, 30, "devcenter.heroku.com/articles/authentication"),
    VendorToken("HubSpot", ("pat-na1-", "pat-eu1-"), r"0-9a-f\-", 30, "developers.hubspot.com/docs/api/private-apps"),
    VendorToken("Hugging Face", ("hf_", "api_org_"), ALNUM, 16, "huggingface.co/docs/hub/security-tokens"),
    VendorToken("Infracost", ("ico-",), ALNUM, 32, "www.infracost.io/docs"),
    VendorToken("42", ("s-s4t2ud-", "s-s4t2af-"), HEX, 40, "api.intra.42.fr/apidoc/guides/getting_started"),
    VendorToken("LangSmith", ("lsv2_pt_", "lsv2_sk_"), r"0-9a-f_", 30, "docs.smith.langchain.com/administration/how_to_guides/organization_management/create_account_api_key"),
    VendorToken("Linear", ("lin_api_", "lin_oauth_"), ALNUM, 30, "linear.app/developers"),
    VendorToken("Mailgun", ("key-", "pubkey-"), r"0-9a-f", 32, "documentation.mailgun.com/docs/mailgun/api-reference/mg-auth"),
    VendorToken("Mapbox", ("pk.eyJ", "sk.eyJ", "tk.eyJ"), r"0-9A-Za-z_.\-", 40, "docs.mapbox.com/help/dive-deeper/access-tokens"),
    VendorToken("Netlify", ("nfp_", "nfc_", "nfo_", "nfb_"), ALNUM, 30, "docs.netlify.com/api/get-started"),
    VendorToken("New Relic", ("NRAK-", "NRJS-", "NRII-", "NRAA-", "NRRA-"), URL, 16, "docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys"),
    VendorToken("Notion", ("ntn_",), ALNUM, 40, "developers.notion.com/docs/authorization"),
    VendorToken("npm", ("npm_",), ALNUM, 16, "docs.npmjs.com/about-access-tokens"),
    VendorToken("NVIDIA", ("nvapi-",), URL, 40, "docs.nvidia.com/ngc/latest/ngc-user-guide.html"),
    VendorToken("Octopus Deploy", ("API-",), UPPER, 26, "octopus.com/docs/octopus-rest-api/how-to-create-an-api-key"),
    VendorToken("OpenAI, Anthropic, Stripe, Clerk", ("sk-", "sk_", "pk-", "pk_", "rk-", "rk_"), URL, 16, "docs.stripe.com/keys"),
    VendorToken("OpenShift", ("sha256~",), URL, 40, "docs.openshift.com/container-platform/latest/authentication/managing-oauth-access-tokens.html"),
    VendorToken("Perplexity", ("pplx-",), ALNUM, 40, "docs.perplexity.ai/guides/getting-started"),
    VendorToken("Pinecone", ("pcsk_",), URL, 40, "docs.pinecone.io/guides/projects/manage-api-keys"),
    VendorToken("Plaid", ("access-sandbox-", "access-development-", "access-production-"), r"0-9a-f\-", 30, "plaid.com/docs/api/tokens"),
    VendorToken("PlanetScale", ("pscale_tkn_", "pscale_oauth_", "pscale_pw_"), DOTTED, 30, "planetscale.com/docs/concepts/service-tokens"),
    VendorToken("PostHog", ("phx_", "phc_"), ALNUM, 40, "posthog.com/docs/api"),
    VendorToken("Postman", ("PMAK-",), URL, 40, "learning.postman.com/docs/developer/postman-api/authentication"),
    VendorToken("Prefect", ("pnu_", "pnb_"), ALNUM, 30, "docs.prefect.io/v3/how-to-guides/cloud/manage-users/api-keys"),
    VendorToken("Pulumi", ("pul-",), HEX, 40, "www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens"),
    VendorToken("PyPI", ("pypi-AgE",), r"0-9A-Za-z_.\-", 16, "pypi.org/help/#apitoken"),
    VendorToken("ReadMe", ("rdme_",), r"0-9a-z_", 40, "docs.readme.com/main/reference/intro/authentication"),
    VendorToken("Replicate", ("r8_",), ALNUM, 37, "replicate.com/docs/topics/security/api-tokens"),
    VendorToken("RubyGems", ("rubygems_",), HEX, 40, "guides.rubygems.org/api-key-scopes"),
    VendorToken("Scalingo", ("tk-us-",), URL, 40, "developers.scalingo.com/#authentication"),
    VendorToken("Brevo", ("xkeysib-", "xsmtpsib-"), URL, 40, "developers.brevo.com/docs/getting-started"),
    VendorToken("SendGrid", ("SG.",), r"0-9A-Za-z_.\-=", 10, "www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys"),
    VendorToken("Sentry", ("sntrys_", "sntryu_", "sntrya_", "sntryi_"), BASE64, 40, "docs.sentry.io/account/auth-tokens"),
    VendorToken("SettleMint", ("sm_aat_", "sm_pat_", "sm_sat_"), ALNUM, 16, "console.settlemint.com/documentation"),
    VendorToken("Shippo", ("shippo_live_", "shippo_test_"), HEX, 30, "docs.goshippo.com/docs/guides_general/authentication"),
    VendorToken("Shopify", ("shpat_", "shpca_", "shppa_", "shpss_", "shptka_"), HEX, 30, "shopify.dev/docs/apps/build/authentication-authorization"),
    VendorToken("Slack", ("xoxa-", "xoxb-", "xoxe-", "xoxe.xoxb-", "xoxe.xoxp-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"0-9A-Za-z_.\-", 8, "docs.slack.dev/authentication/tokens"),
    VendorToken("Slack", ("hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"), "0-9A-Za-z_+/", 8, "docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"),
    VendorToken("Snyk", ("snyk_uat.", "snyk_sat."), r"0-9A-Za-z_.\-", 40, "docs.snyk.io/snyk-api/authentication-for-api"),
    VendorToken("Sonar", ("squ_", "sqp_", "sqa_"), r"0-9A-Za-z_=\-", 40, "docs.sonarsource.com/sonarqube-server/user-guide/managing-tokens"),
    VendorToken("Sourcegraph", ("sgp_", "slk_"), r"0-9A-Za-z_", 40, "sourcegraph.com/docs/cli/how-tos/creating_an_access_token"),
    VendorToken("Square", ("sq0atp-", "sq0csp-", "EAAA"), URL, 22, "developer.squareup.com/docs/build-basics/access-tokens"),
    VendorToken("Stripe", ("whsec_",), r"0-9A-Za-z_+/=", 10, "docs.stripe.com/webhooks/signature"),
    VendorToken("Supabase", ("sbp_", "sb_secret_"), r"0-9A-Za-z_\-", 30, "supabase.com/docs/guides/api/api-keys"),
    VendorToken("Tavily", ("tvly-",), URL, 24, "docs.tavily.com/documentation/api-reference/introduction"),
    VendorToken("Typeform", ("tfp_",), DOTTED, 40, "www.typeform.com/developers/get-started/personal-access-token"),
    VendorToken("xAI", ("xai-",), ALNUM, 60, "docs.x.ai/docs/overview"),
    VendorToken("X", ("AAAAAAAAAAAAAAAAAAAAAA",), PERCENT, 60, "docs.x.com/resources/fundamentals/authentication"),
    VendorToken("Yandex Cloud", ("AQVN",), URL, 35, "yandex.cloud/en/docs/iam/concepts/authorization/api-key"),
    VendorToken("Yandex Cloud", ("t1.",), DOTTED, 86, "yandex.cloud/en/docs/iam/concepts/authorization/iam-token"),
    VendorToken("Yandex Cloud", ("YCAJE", "YCNP", "YCMP"), URL, 20, "yandex.cloud/en/docs/iam/concepts/authorization/access-key"),
)  # fmt: skip
"""The forms of tokens, by vendor."""
