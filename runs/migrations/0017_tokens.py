"""Tokens say what they are for, who made them and who took them back; those there are do not know."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0016_fill_turns")]

    operations = [
        migrations.AddField("token", "created_by", models.TextField(blank=True, default="")),
        migrations.AddField(
            "token",
            "form",
            models.UUIDField(help_text="The form it was made with: sent twice, it makes one.", null=True, unique=True),
        ),
        migrations.AddField("token", "name", models.TextField(blank=True, default="")),
        migrations.AddField("token", "revoked_by", models.TextField(blank=True, default="")),
    ]
