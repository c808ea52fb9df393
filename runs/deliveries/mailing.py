"""Sending a message by e-mail, through Django's mail settings."""

import smtplib

from django.conf import settings
from django.core.mail import EmailMessage, get_connection

from runs.deliveries.outcome import Outcome
from runs.models import Delivery

_SMTP = "django.core.mail.backends.smtp.EmailBackend"


def mail(delivery: Delivery, *, timeout: float) -> Outcome:
    """Hand the message to the mail server. Whatever comes of it is an Outcome."""
    smtp = settings.EMAIL_BACKEND == _SMTP
    if smtp and not settings.EMAIL_HOST:
        return Outcome(error="there is no mail server: set VECTORSTEP_EMAIL_HOST")
    message = EmailMessage(
        subject=delivery.subject,
        body=delivery.body,
        to=[one.strip() for one in delivery.to.split(",") if one.strip()],
        # The same on every try, so that a mail server or a reader can tell.
        headers={"Message-ID": f"<{delivery.webhook_id}@{_domain()}>"},
        connection=get_connection(timeout=timeout) if smtp else get_connection(),
    )
    try:
        message.send()
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error if isinstance(error.smtp_error, str) else error.smtp_error.decode("utf-8", "replace")
        return Outcome(
            error=f"the mail server answered {error.smtp_code}",
            retryable=error.smtp_code < 500,
            status_code=error.smtp_code,
            response=said,
        )
    except smtplib.SMTPRecipientsRefused as error:
        return Outcome(error=f"the mail server refused {', '.join(error.recipients)}")
    except (smtplib.SMTPException, OSError) as error:
        return Outcome(error=f"the mail server: {error}", retryable=True)
    except ValueError as error:  # an address or a header that cannot be one
        return Outcome(error=str(error))
    return Outcome(response="taken by the mail server")


def _domain() -> str:
    return settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].strip("> ") or "localhost"
